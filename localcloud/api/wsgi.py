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


def header_of(environ: Environ, name: str) -> str | None:
    """Returns a header of a request; None if the request has none of this name."""
    variable = name.upper().replace("-", "_")
    plain = ("CONTENT_TYPE", "CONTENT_LENGTH")
    value = environ.get(variable if variable in plain else f"HTTP_{variable}")
    return None if value is None else str(value)


def read_body(environ: Environ) -> bytes:
    """Returns the body of a request. The next application can read it again."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = b""
    if environ.get("wsgi.input_terminated") and not length:
        body = environ["wsgi.input"].read()  # a body in chunks, which says its end itself
    elif length:
        body = environ["wsgi.input"].read(length)
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
    return _answer(start_response, status, json.dumps(document).encode() + b"\n", content_type)


def xml_answer(start_response: StartResponse, status: str, text: str) -> Body:
    """Sends the head of an answer in XML, and returns its body."""
    return _answer(start_response, status, text.encode(), "text/xml;charset=UTF-8")


def _answer(start_response: StartResponse, status: str, body: bytes, content_type: str) -> Body:
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
