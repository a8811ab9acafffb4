"""Requests and answers in the form of WSGI (PEP 3333)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Body = Iterable[bytes]
WsgiApplication = Callable[[Environ, StartResponse], Body]


def signed_service(authorization: str) -> str:
    """Returns the service that a request is signed for (Signature Version 4); empty if it is not signed."""
    _, found, scope = authorization.partition("Credential=")
    parts = scope.split(",")[0].split("/")
    return parts[3].lower() if found and len(parts) >= 5 else ""


def read_body(environ: Environ) -> bytes:
    """Returns the body of a request. The next application can read it again."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def action_of(body: bytes, query: str) -> str:
    """Returns the action of a request in AWS's query protocol; empty if it has none."""
    for text in (body.decode(errors="replace"), query):
        action = parse_qs(text).get("Action")
        if action:
            return action[0]
    return ""


def json_answer(
    start_response: StartResponse, status: str, document: object, content_type: str = "application/json"
) -> Body:
    """Sends the head of an answer, and returns its body."""
    body = json.dumps(document).encode() + b"\n"
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
