"""Batches, and CloudWatch Logs as moto has it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError
from moto import mock_aws

from controller.shipping.batches import (
    MOST_BATCH_BYTES,
    MOST_EVENT_BYTES,
    MOST_EVENTS,
    Dated,
    Event,
    events_of,
    first_batch,
)
from controller.shipping.sending import CloudWatch, NotTakenError

GROUP = "/centavo/unit"


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        yield boto3.client("logs", region_name="us-east-1")


def dated(*lines: str, at: float = 1000.0, stream: str = "run/worker") -> list[Dated]:
    return [Dated(line.encode(), at, stream, number + 1) for number, line in enumerate(lines)]


def now_ms() -> int:
    return round(time.time() * 1000)


def messages(logs: Any, stream: str) -> list[str]:
    return [event["message"] for event in logs.get_log_events(logGroupName=GROUP, logStreamName=stream)["events"]]


def test_a_batch_ends_where_another_stream_begins() -> None:
    batch = first_batch([*dated("one", "two"), Dated(b"three", 1000, "run/centavo-run-0", 3)])
    assert [event.message for event in batch.events] == ["one", "two"] and batch.end == 2


def test_a_batch_keeps_to_the_limits_of_a_call() -> None:
    assert first_batch(dated(*["x"] * (MOST_EVENTS + 5))).end == MOST_EVENTS
    big = first_batch(dated(*["x" * 200_000] * 8))
    assert big.end == 5 and sum(event.counted_bytes for event in big.events) <= MOST_BATCH_BYTES
    assert first_batch([*dated("one"), *dated("two", at=1000 + 24 * 3600)]).end == 1


def test_empty_lines_are_covered_and_not_sent() -> None:
    batch = first_batch(dated("", "one", ""))
    assert [event.message for event in batch.events] == ["one"] and batch.end == 3


def test_a_long_line_is_several_events_whatever_its_characters() -> None:
    for text in ("x" * 600_000, "\U0001f600" * 200_000):
        events = events_of(text.encode(), 0.0)
        assert "".join(event.message for event in events) == text
        assert all(len(event.message.encode()) <= MOST_EVENT_BYTES for event in events)


def test_the_stream_is_made_with_the_first_batch(logs: Any) -> None:
    logs.create_log_group(logGroupName=GROUP)
    sender = CloudWatch(GROUP, lambda: logs)
    assert sender.send("run/launcher", [Event(now_ms(), "one")]) == 0
    assert sender.send("run/launcher", [Event(now_ms(), "two")]) == 0
    assert messages(logs, "run/launcher") == ["one", "two"]


def test_two_nodes_may_make_the_same_stream(logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    logs.create_log_group(logGroupName=GROUP)
    make = logs.create_log_stream

    def made_by_another_first(**arguments: Any) -> Any:
        make(**arguments)
        return make(**arguments)

    monkeypatch.setattr(logs, "create_log_stream", made_by_another_first)
    assert CloudWatch(GROUP, lambda: logs).send("run/launcher", [Event(now_ms(), "one")]) == 0
    assert messages(logs, "run/launcher") == ["one"]


def test_a_group_that_is_not_there_is_an_outage(logs: Any) -> None:
    with pytest.raises(NotTakenError, match="/centavo/unit"):
        CloudWatch(GROUP, lambda: logs).send("run/launcher", [Event(now_ms(), "one")])


def test_one_event_that_is_refused_does_not_hold_the_others_up(logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    logs.create_log_group(logGroupName=GROUP)
    put = logs.put_log_events

    def picky(**arguments: Any) -> Any:
        if any("bad" in event["message"] for event in arguments["logEvents"]):
            raise ClientError({"Error": {"Code": "InvalidParameterException"}}, "PutLogEvents")
        return put(**arguments)

    monkeypatch.setattr(logs, "put_log_events", picky)
    events = [Event(now_ms(), text) for text in ("one", "two", "bad", "three", "four")]
    assert CloudWatch(GROUP, lambda: logs).send("run/launcher", events) == 1
    assert messages(logs, "run/launcher") == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("info", "refused"),
    [
        ({}, 0),
        ({"tooOldLogEventEndIndex": 2}, 2),
        ({"expiredLogEventEndIndex": 1, "tooNewLogEventStartIndex": 3}, 2),
    ],
)
def test_events_that_are_too_old_or_too_new_are_counted(info: dict[str, int], refused: int) -> None:
    class Answers:
        def put_log_events(self, **arguments: Any) -> Any:
            return {"rejectedLogEventsInfo": info}

    assert CloudWatch(GROUP, Answers).send("run/launcher", [Event(0, str(n)) for n in range(4)]) == refused


def test_credentials_that_come_later_are_found() -> None:
    made: list[int] = []

    class Client:
        def put_log_events(self, **arguments: Any) -> Any:
            if len(made) < 2:
                raise NoCredentialsError
            return {}

    def connect() -> Client:
        made.append(1)
        return Client()

    sender = CloudWatch(GROUP, connect)
    with pytest.raises(NotTakenError):
        sender.send("run/launcher", [Event(0, "one")])
    assert sender.send("run/launcher", [Event(0, "one")]) == 0 and len(made) == 2
