"""What a call prints, in CloudWatch Logs."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timezone

from moto.awslambda.models import LambdaFunction
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.logs.models import logs_backends

from localcloud.api.functions.process import Outcome

MOST_EVENTS = 10_000
"""As many as one PutLogEvents call takes."""

log = logging.getLogger("localcloud.functions")


def write_log(function: LambdaFunction, region: str, request_id: str, outcome: Outcome) -> None:
    """Writes what a call printed between the lines that Lambda adds. A group that does not exist is not made.

    On AWS, Lambda makes the group only if the function's role may do so.
    """
    backend = logs_backends[DEFAULT_ACCOUNT_ID][region]
    group = function.get_configuration()["LoggingConfig"]["LogGroup"]
    if group not in backend.groups:
        log.warning("%s has no log group %s; what it printed is lost", function.function_name, group)
        return
    stream = f"{datetime.now(timezone.utc):%Y/%m/%d}/[$LATEST]{request_id.replace('-', '')}"
    backend.create_log_stream(group, stream)
    now_ms = int(1000 * time.time())
    events = [{"timestamp": now_ms, "message": line} for line in _lines(function, request_id, outcome)]
    backend.put_log_events(group, stream, events[:MOST_EVENTS])


def _lines(function: LambdaFunction, request_id: str, outcome: Outcome) -> list[str]:
    milliseconds = f"{1000 * outcome.took_s:.2f} ms"
    return [
        f"START RequestId: {request_id} Version: $LATEST",
        *(line for line in outcome.output.splitlines() if line),
        *([f"[ERROR] {outcome.answer}"] if outcome.failed else []),
        f"END RequestId: {request_id}",
        f"REPORT RequestId: {request_id} Duration: {milliseconds} Memory Size: {function.memory_size} MB",
    ]
