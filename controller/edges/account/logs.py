"""The logs of runs, as CloudWatch Logs keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from controller.domain.errors import AwsError
from controller.domain.reasons.moving import AwsFailed
from controller.edges.aws import AWS_ERRORS, Result, client_config
from controller.shipping.streams import stream

REFUSED = ("AccessDeniedException", "AccessDenied", "UnrecognizedClientException")
LATEST_STREAMS = 50
"""As many streams as one DescribeLogStreams call tells."""


@dataclass(frozen=True)
class LogLine:
    """One line of a log.

    Attributes:
        at: When the line appeared, in seconds since the epoch.
        log: The log, by the name of its stream without the run.
        line_id: What tells this line from others with the same words.
    """

    at: float
    log: str
    message: str
    line_id: str


class Logs:
    """One log group. Raises AwsError."""

    def __init__(self, region: str, group: str) -> None:
        self.group = group
        self._logs: Any = boto3.client("logs", region_name=region, config=client_config())

    def latest_run(self) -> str | None:
        """Returns the latest run that has a log; None where no run has one."""

        def call() -> list[str]:
            answer = self._logs.describe_log_streams(
                logGroupName=self.group, orderBy="LastEventTime", descending=True, limit=LATEST_STREAMS
            )
            return [one["logStreamName"] for one in answer["logStreams"] if "/" in one["logStreamName"]]

        return max((name.partition("/")[0] for name in self._speak("DescribeLogStreams", call)), default=None)

    def of_run(self, run: str) -> list[str]:
        """Returns the logs of a run, in the order of their names."""
        prefix = stream(run, "")

        def call() -> list[str]:
            pages = self._logs.get_paginator("describe_log_streams").paginate(
                logGroupName=self.group, logStreamNamePrefix=prefix
            )
            return [one["logStreamName"].removeprefix(prefix) for page in pages for one in page["logStreams"]]

        return sorted(self._speak("DescribeLogStreams", call))

    def lines(self, run: str, since: float, log: str = "") -> Iterator[LogLine]:
        """Yields the lines of a run from a time on, in the order of time.

        Args:
            run: The run.
            since: The time, in seconds since the epoch.
            log: How the names of the logs begin.
        """
        prefix = stream(run, "")
        asked = {
            "logGroupName": self.group,
            "logStreamNamePrefix": prefix + log,
            "startTime": max(0, int(since * 1000)),
        }
        token: str | None = None
        while True:
            given = asked if token is None else {**asked, "nextToken": token}
            answer = self._speak("FilterLogEvents", partial(self._logs.filter_log_events, **given))
            for event in answer["events"]:
                name = event["logStreamName"].removeprefix(prefix)
                yield LogLine(event["timestamp"] / 1000, name, event["message"], str(event["eventId"]))
            token = answer.get("nextToken")
            if not token:
                return

    def _speak(self, action: str, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except AWS_ERRORS as error:
            raise self._explained(action, error) from error

    def _explained(self, action: str, error: Exception) -> AwsError:
        code = error.response.get("Error", {}).get("Code") if isinstance(error, ClientError) else None
        reason = AwsFailed(f"read the log group {self.group}", str(error))
        if code == "ResourceNotFoundException":
            what = f"There is no log group {self.group}: {error}"
            next_step = "`centavo apply` makes it with the cluster, and `centavo destroy` deletes it."
        elif code in REFUSED:
            what = f"The credentials in use may not call logs:{action} on the log group {self.group}: {error}"
            next_step = "terraform/environments/aws/policies has the permissions of a person."
        else:
            what = f"AWS did not read the log group {self.group}: {error}"
            next_step = "Check the credentials, and that the endpoint is up (on local: `python -m localcloud status`)."
        return AwsError(what, next_step, reason=reason)
