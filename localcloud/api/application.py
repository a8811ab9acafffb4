"""The WSGI application of the AWS API: it passes each request to moto or to a service of localcloud's own."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from localcloud.api.calls import Calls
from localcloud.api.control.control import PREFIX, Control
from localcloud.api.control.requests import ControlError
from localcloud.api.errors import FORBIDDEN, Asked, ServiceError, answer_error
from localcloud.api.faults.failing import FailingApi
from localcloud.api.iam.permissions import check
from localcloud.api.iam.requested import read_request
from localcloud.api.refusal import RefusedError
from localcloud.api.replays import Replays
from localcloud.api.signing.signature import Signatures
from localcloud.api.wsgi import (
    Body,
    Environ,
    StartResponse,
    WsgiApplication,
    action_of,
    json_answer,
    read_body,
)

Service = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Returns the response to an action and its request, or raises `ServiceError`."""

SHARED_STATE = ("ec2", "autoscaling")  # services whose models localcloud's own threads change too
CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")
"""The headers of S3's conditional requests."""
READING = ("Describe", "Get", "List")

log = logging.getLogger("localcloud.api")


class Application:
    """The application.

    Args:
        signatures: lets requests pass that are signed.
        failing: answers requests that shall fail.
        moto: moto's application, which answers everything else.
        control: answers the control API.
        own_services: the services that moto lacks, by the name that requests are signed for.
        calls: notes which actions were called.
        lock: guards the models of EC2 and Auto Scaling.
        tick: is called after each change of these models.
    """

    def __init__(
        self,
        signatures: Signatures,
        failing: FailingApi,
        moto: WsgiApplication,
        control: Control,
        own_services: Mapping[str, Service],
        calls: Calls,
        lock: threading.RLock,
        tick: Callable[[], None],
    ) -> None:
        self.signatures = signatures
        self.failing = failing
        self.moto = moto
        self.control = control
        self.own_services = own_services
        self.calls = calls
        self.lock = lock
        self.tick = tick
        self.replays = Replays()
        self.conditional = threading.Lock()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Body:
        """Answers a request."""
        path = environ.get("PATH_INFO", "")
        if path.startswith(PREFIX):
            return self._control(environ, start_response, path)
        body = read_body(environ)
        try:
            claim = self.signatures.check(environ, body)
            request = read_request(environ, body, claim.service, claim.region)
            check(request, claim.access_key_id)
        except RefusedError as error:
            log.warning("%s %s is refused: %s", environ["REQUEST_METHOD"], path, error)
            return answer_error(
                Asked(environ, body, error.service), start_response, FORBIDDEN, error.why.value, str(error)
            )
        service = claim.service
        self.calls.add(request, claim.access_key_id)
        failure = self.failing.answer(Asked(environ, body, service), start_response)
        if failure is not None:
            log.warning("%s %s (%s) fails, as a fault in force asks", environ["REQUEST_METHOD"], path, service)
            return failure
        if service in self.own_services:
            return self._own(environ, start_response, self.own_services[service])
        if service in SHARED_STATE:
            return self._shared(environ, start_response, service)
        return self._answer(environ, start_response)

    def _answer(self, environ: Environ, start_response: StartResponse) -> Body:
        """Has moto answer, one conditional request at a time: moto 5.1 compares first and writes then."""
        if not any(name in environ for name in CONDITIONS):
            return self.moto(environ, start_response)
        with self.conditional:
            return self.moto(environ, start_response)

    def _shared(self, environ: Environ, start_response: StartResponse, service: str) -> Body:
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

    def _own(self, environ: Environ, start_response: StartResponse, service: Service) -> Body:
        """Answers in AWS's JSON protocol."""
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        request = json.loads(read_body(environ) or b"{}")
        try:
            with self.lock:
                answer, status = service(action, request), "200 OK"
        except ServiceError as error:
            answer, status = {"__type": error.code, "message": str(error)}, "400 Bad Request"
        return json_answer(start_response, status, answer, "application/x-amz-json-1.1")

    def _control(self, environ: Environ, start_response: StartResponse, path: str) -> Body:
        body, method = read_body(environ), environ["REQUEST_METHOD"]
        try:
            with self.lock:
                self.control.admit(environ.get("HTTP_AUTHORIZATION", ""))
                answer, status = self.control.answer(method, path, body), "200 OK"
                if method == "POST":
                    self.tick()
        except ControlError as error:
            answer, status = {"error": str(error)}, f"{error.status} Error"
        return json_answer(start_response, status, answer)
