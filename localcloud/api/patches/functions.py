"""Calls of Lambda's functions, and what is told of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from moto.awslambda.models import LambdaFunction
from moto.awslambda.responses import LambdaResponse

from localcloud.api.functions.functions import Functions
from localcloud.api.iam.permissions import may
from localcloud.api.iam.question import Question
from localcloud.api.patches.replace import replace

LOG_TAIL_BYTES = 4096
"""As much of a call's log as Invoke returns."""


def patch_functions(functions: Functions) -> None:
    """Lets Invoke run the function's code in a process, for which moto asks Docker, and GetFunction hide tags.

    GetFunction tells the tags only to whoever may list them (Lambda API reference), and says nothing where it does not.
    """
    told_of = LambdaResponse.get_function

    def get_function(response: LambdaResponse) -> str:
        told = json.loads(told_of(response))
        if not may(response.access_key, Question("lambda:ListTags", told["Configuration"]["FunctionArn"])):
            told.pop("Tags", None)
        return json.dumps(told)

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
    replace(LambdaResponse, "get_function", get_function)
