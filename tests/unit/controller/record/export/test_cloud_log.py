"""The controller's own log on its way to CloudWatch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from controller.record.export import cloud_log
from controller.record.export.cloud_log import CloudLog
from controller.shipping.batches import Event
from controller.shipping.sending import NotTakenError

PATIENCE_S = 30.0


class Cloud:
    """A CloudWatch in this process. `made` is the group that a sender was made for."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.lines: list[tuple[str, str]] = []
        self.is_out = False

    def sender(self, group: str, connect: Callable[[], object]) -> Cloud:
        self.made.append(group)
        return self

    def send(self, stream: str, events: Sequence[Event]) -> int:
        if self.is_out:
            raise NotTakenError("it is out")
        self.lines += [(stream, event.message) for event in events]
        return 0


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    cloud = Cloud()
    monkeypatch.setattr(cloud_log, "CloudWatch", cloud.sender)
    monkeypatch.setattr(cloud_log, "EVERY_S", 0.01)
    return cloud


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_log_is_sent_from_when_the_group_is_known_to_the_last_line(tmp_path: Path, cloud: Cloud) -> None:
    file, group = tmp_path / "centavo.log", [""]
    file.write_text("before the cluster is there\n")
    with CloudLog("a-run", file, "us-east-1", lambda: group[0] or None, time.time, lambda _: None).sent():
        time.sleep(0.1)
        assert cloud.made == []
        group[0] = "/centavo/unit"
        until(lambda: len(cloud.lines) == 1)
        with file.open("a") as log:
            log.write("the last line\n")
    assert cloud.made == ["/centavo/unit"]
    assert cloud.lines == [
        ("a-run/controller", "before the cluster is there"),
        ("a-run/controller", "the last line"),
    ]


def test_a_later_controller_goes_on_where_the_first_one_stopped(tmp_path: Path, cloud: Cloud) -> None:
    file = tmp_path / "centavo.log"
    for line in ("one", "two"):
        with file.open("a") as log:
            log.write(f"{line}\n")
        with CloudLog("a-run", file, "us-east-1", lambda: "/centavo/unit", time.time, lambda _: None).sent():
            until(lambda line=line: ("a-run/controller", line) in cloud.lines)  # type: ignore[misc]
    assert [message for _, message in cloud.lines] == ["one", "two"]


def test_a_cloudwatch_that_takes_nothing_is_told_and_holds_nothing_up(tmp_path: Path, cloud: Cloud) -> None:
    file, told, cloud.is_out = tmp_path / "centavo.log", [], True
    file.write_text("one\n")
    with CloudLog("a-run", file, "us-east-1", lambda: "/centavo/unit", time.time, told.append).sent():
        until(lambda: bool(told))
    assert cloud.lines == [] and len(told) == 1
