"""The AWS API on loopback: moto's WSGI application, with the services that moto lacks dispatched before it."""

from __future__ import annotations

import io
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs

from localcloud.api.control.actions import PREFIX, Control, ControlError
from localcloud.api.errors import ServiceError
from localcloud.api.replays import Replays

StartResponse = Callable[..., Any]
Environ = dict[str, Any]
Answering = Callable[[str, dict[str, Any]], dict[str, Any]]

SHARED_STATE = ("ec2", "autoscaling")  # services whose models localcloud's own threads change too
READING = ("Describe", "Get", "List")

log = logging.getLogger("localcloud.api")


class Api:
    """A WSGI application. `lock` guards the models of EC2 and Auto Scaling; `tick` follows each change to them."""

    def __init__(
        self,
        moto: Callable[[Environ, StartResponse], Iterable[bytes]],
        control: Control,
        own_services: Mapping[str, Answering],
        lock: threading.RLock,
        tick: Callable[[], None],
    ) -> None:
        self.moto = moto
        self.control = control
        self.own_services = own_services
        self.lock = lock
        self.tick = tick
        self.replays = Replays()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path.startswith(PREFIX):
            return self._control(environ, start_response, path)
        service = signed_service(environ.get("HTTP_AUTHORIZATION", ""))
        if service in self.own_services:
            return self._own(environ, start_response, self.own_services[service])
        if service in SHARED_STATE:
            return self._shared(environ, start_response, service)
        return self.moto(environ, start_response)

    def _shared(self, environ: Environ, start_response: StartResponse, service: str) -> Iterable[bytes]:
        body = read_body(environ)
        action = action_of(body, environ.get("QUERY_STRING", ""))
        started = time.monotonic()
        with self.lock:
            if action.startswith(READING):
                return self.moto(environ, start_response)
            answer = self.replays.answer(self.moto, environ, start_response)
            self.tick()
        log.info("%s %s took %.0f ms", service, action, 1000 * (time.monotonic() - started))
        return answer

    def _own(self, environ: Environ, start_response: StartResponse, answer_to: Answering) -> Iterable[bytes]:
        """A service in the JSON protocol that moto lacks as a whole."""
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        request = json.loads(read_body(environ) or b"{}")
        try:
            with self.lock:
                answer, status = answer_to(action, request), "200 OK"
        except ServiceError as error:
            answer, status = {"__type": error.code, "message": str(error)}, "400 Bad Request"
        return _json(start_response, status, answer, "application/x-amz-json-1.1")

    def _control(self, environ: Environ, start_response: StartResponse, path: str) -> Iterable[bytes]:
        body = read_body(environ)
        try:
            with self.lock:
                answer, status = self.control.answer(environ["REQUEST_METHOD"], path, body), "200 OK"
                if environ["REQUEST_METHOD"] == "POST":
                    self.tick()
        except ControlError as error:
            answer, status = {"error": str(error)}, f"{error.status} Error"
        return _json(start_response, status, answer)


def signed_service(authorization: str) -> str:
    """The service in a request's credential scope, empty when it is not signed (Signature Version 4)."""
    _, found, scope = authorization.partition("Credential=")
    parts = scope.split(",")[0].split("/")
    return parts[3].lower() if found and len(parts) >= 5 else ""


def read_body(environ: Environ) -> bytes:
    """The request's body, which stays readable for whoever comes next."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def action_of(body: bytes, query: str) -> str:
    """The action of a request in the query protocol, empty when it has none."""
    for text in (body.decode(errors="replace"), query):
        action = parse_qs(text).get("Action")
        if action:
            return action[0]
    return ""


def _json(
    start_response: StartResponse, status: str, document: object, content_type: str = "application/json"
) -> Iterable[bytes]:
    body = json.dumps(document).encode() + b"\n"
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(body)))])
    return [body]
