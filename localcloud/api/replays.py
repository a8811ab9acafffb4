"""A request that an SDK sends again, because the answer to the first did not reach it, gets that same answer.

AWS's SDKs mark all attempts at one call with one id (the header amz-sdk-invocation-id), so that a change that was made
is not made twice: a rule that is revoked twice, say, would be an error the second time.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.test import run_wsgi_app

log = logging.getLogger("localcloud.api")

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Answer = tuple[str, list[tuple[str, str]], list[bytes]]


class Replays:
    """The last `kept` successful answers, by the id of the call."""

    def __init__(self, kept: int = 256) -> None:
        self._kept = kept
        self._answers: OrderedDict[str, Answer] = OrderedDict()

    def answer(self, application: Application, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """The application's answer, or the one that an earlier attempt at this call was given."""
        call = str(environ.get("HTTP_AMZ_SDK_INVOCATION_ID", ""))
        answer = self._answers.get(call)
        if answer is None:
            answer = _ask(application, environ)
            if call and answer[0].startswith("2"):
                self._keep(call, answer)
        else:
            log.warning("call %s came again (%s): answered as before", call, environ.get("HTTP_AMZ_SDK_REQUEST", ""))
        status, headers, body = answer
        start_response(status, headers)
        return body

    def _keep(self, call: str, answer: Answer) -> None:
        self._answers[call] = answer
        while len(self._answers) > self._kept:
            self._answers.popitem(last=False)


def _ask(application: Application, environ: Environ) -> Answer:
    """The application's answer as a value."""
    body, status, headers = run_wsgi_app(application, environ, buffered=True)
    return status, list(headers), list(body)
