"""CloudWatch Logs, as the shipper needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from .batches import Event

REFUSED = "InvalidParameterException"
MISSING = "ResourceNotFoundException"
THERE_ALREADY = "ResourceAlreadyExistsException"


class NotTakenError(Exception):
    """CloudWatch does not take logs now. A later attempt may do better."""


class Sender(Protocol):
    """What takes batches of events."""

    def send(self, stream: str, events: Sequence[Event]) -> int:
        """Sends one batch. Returns how many events were refused for good. Raises NotTakenError."""


class CloudWatch:
    """The streams of one log group. A stream is made when the first batch is sent to it."""

    def __init__(self, group: str, connect: Callable[[], Any]) -> None:
        self._group, self._connect = group, connect
        self._client: Any = None

    def send(self, stream: str, events: Sequence[Event]) -> int:
        """Sends one batch. Returns how many events were refused for good. Raises NotTakenError."""
        try:
            return self._put(stream, events)
        except (ClientError, BotoCoreError, ResponseParserError) as error:
            # A client that found no credentials looks for none again, so the next attempt makes a new one.
            self._client = None
            raise NotTakenError(f"{self._group}: {error}") from error

    def _put(self, stream: str, events: Sequence[Event]) -> int:
        try:
            return self._put_once(stream, events)
        except ClientError as error:
            if _code(error) == MISSING:
                self._make(stream)
                return self._put_once(stream, events)
            if _code(error) != REFUSED:
                raise
        if len(events) == 1:
            return 1
        half = len(events) // 2
        return self._put(stream, events[:half]) + self._put(stream, events[half:])

    def _put_once(self, stream: str, events: Sequence[Event]) -> int:
        answer = self._logs().put_log_events(
            logGroupName=self._group,
            logStreamName=stream,
            logEvents=[{"timestamp": event.at_ms, "message": event.message} for event in events],
        )
        return _refused(answer.get("rejectedLogEventsInfo") or {}, len(events))

    def _make(self, stream: str) -> None:
        try:
            self._logs().create_log_stream(logGroupName=self._group, logStreamName=stream)
        except ClientError as error:
            if _code(error) != THERE_ALREADY:
                raise

    def _logs(self) -> Any:
        if self._client is None:
            self._client = self._connect()
        return self._client


def connect(region: str | None) -> Any:
    """Returns a client of CloudWatch Logs; of the region that the process's environment names where none is given."""
    config = Config(retries={"total_max_attempts": 3, "mode": "standard"}, connect_timeout=5, read_timeout=15)
    return boto3.session.Session().client("logs", region_name=region, config=config)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code"))


def _refused(info: dict[str, int], count: int) -> int:
    """Returns how many events CloudWatch took for too old or too new: it takes the others of the batch."""
    first = max(info.get("tooOldLogEventEndIndex", 0), info.get("expiredLogEventEndIndex", 0))
    return first + count - info.get("tooNewLogEventStartIndex", count)
