"""Calls that an SDK sends again, because the answer to its first attempt was lost, get the first answer again.

AWS's SDKs mark all attempts at a call with one id (the header `amz-sdk-invocation-id`). So a change is not made twice.
The second removal of one security group rule, for example, would be an error.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from werkzeug.test import run_wsgi_app

from localcloud.api.wsgi import Body, Environ, StartResponse, WsgiApplication

Answer = tuple[str, list[tuple[str, str]], list[bytes]]

log = logging.getLogger("localcloud.api")


class Replays:
    """The last `kept` successful answers by the id of the call."""

    def __init__(self, kept: int = 256) -> None:
        self._kept = kept
        self._answers: OrderedDict[str, Answer] = OrderedDict()

    def answer(self, application: WsgiApplication, environ: Environ, start_response: StartResponse) -> Body:
        """Returns the answer of an earlier attempt at this call, or else the application's."""
        call = str(environ.get("HTTP_AMZ_SDK_INVOCATION_ID", ""))
        answer = self._answers.get(call)
        if answer is None:
            answer = _ask(application, environ)
            if call and answer[0].startswith("2"):
                self._keep(call, answer)
        else:
            attempt = environ.get("HTTP_AMZ_SDK_REQUEST", "")
            log.warning("call %s came again (%s): its first answer is sent again", call, attempt)
        status, headers, body = answer
        start_response(status, headers)
        return body

    def _keep(self, call: str, answer: Answer) -> None:
        self._answers[call] = answer
        while len(self._answers) > self._kept:
            self._answers.popitem(last=False)


def _ask(application: WsgiApplication, environ: Environ) -> Answer:
    """Returns the application's answer as a value."""
    body, status, headers = run_wsgi_app(application, environ, buffered=True)
    return status, list(headers), list(body)
