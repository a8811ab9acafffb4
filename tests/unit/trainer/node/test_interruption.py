"""A spot notice makes the rank leave before its node is taken back."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from trainer.node.interruption import MARGIN_S, await_notice, ends_at
from trainer.node.requests import Requests

NOW = datetime(2026, 11, 21, 6, 0, 0, tzinfo=timezone.utc).timestamp()
NOTICE = '{"action": "terminate", "time": "2026-11-21T06:02:00Z"}'


class FakeMetadata:
    """Gives its answers one after another."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)

    def interruption(self) -> str | None:
        return self.answers.pop(0)


class FakeRequests(Requests):
    """Notes the order, and starts no clock that would end the tests."""

    def leave(self, reason: str, grace_s: float = 0.0) -> None:
        self.leave_reason = reason


def test_the_rank_stays_until_shortly_before_the_end() -> None:
    slept: list[float] = []
    requests = FakeRequests()
    await_notice(FakeMetadata(None, None, NOTICE), requests, lambda: NOW, slept.append)  # type: ignore[arg-type]
    assert requests.leave_reason is not None
    assert requests.leave_reason.startswith("interrupted by the spot service")
    assert slept[-1] == pytest.approx(120 - MARGIN_S)


@pytest.mark.parametrize("notice", ["", "soon", "{}", '{"time": 5}', '{"time": "tomorrow"}', "[]"])
def test_a_notice_that_names_no_time_means_now(notice: str) -> None:
    assert ends_at(notice, otherwise=NOW) == NOW
    slept: list[float] = []
    requests = FakeRequests()
    await_notice(FakeMetadata(notice), requests, lambda: NOW, slept.append)  # type: ignore[arg-type]
    assert (requests.leave_reason is not None, slept) == (True, [0.0])
