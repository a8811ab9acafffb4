"""Calls of Lambda's functions."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from moto.awslambda.models import LambdaFunction

from localcloud.api.functions.functions import Functions
from localcloud.api.patches.replace import replace

LOG_TAIL_BYTES = 4096
"""As much of a call's log as Invoke returns."""


def patch_functions(functions: Functions) -> None:
    """Lets Invoke run the function's code in a process. moto asks Docker for it."""

    def invoke(
        function: LambdaFunction,
        body: str | bytes,
        request_headers: Mapping[str, str],
        response_headers: dict[str, str],
    ) -> bytes:
        event = (body.decode() if isinstance(body, bytes) else body) or "{}"
        kind = request_headers.get("x-amz-invocation-type", "RequestResponse")
        if kind == "Event":
            functions.call_later(function, event)
        if kind != "RequestResponse":
            return b""
        outcome = functions.call(function, event)
        if outcome.failed:
            response_headers["x-amz-function-error"] = "Unhandled"
        response_headers["x-amz-log-result"] = base64.b64encode(outcome.output.encode()[-LOG_TAIL_BYTES:]).decode()
        return outcome.answer.encode()

    replace(LambdaFunction, "invoke", invoke)
