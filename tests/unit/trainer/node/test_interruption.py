"""A spot notice is told, and makes the rank leave, after a checkpoint, before its node is taken back."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from trainer.node.fact import Notice, NoticeKind
from trainer.node.interruption import MARGIN_S, await_notices, ends_at
from trainer.node.requests import Requests

NOW = datetime(2026, 11, 21, 6, 0, 0, tzinfo=timezone.utc).timestamp()
NOTICE = '{"action": "terminate", "time": "2026-11-21T06:02:00Z"}'


class FakeMetadata:
    """Gives its answers one after another. `at_risk_after` asks it recommends to replace the instance."""

    def __init__(self, *answers: str | None, at_risk_after: int | None = None) -> None:
        self.answers, self.at_risk_after = list(answers), at_risk_after

    def interruption(self) -> str | None:
        return self.answers.pop(0)

    def rebalance(self) -> str | None:
        if self.at_risk_after is None:
            return None
        self.at_risk_after -= 1
        return '{"noticeTime": "2026-11-21T06:00:00Z"}' if self.at_risk_after < 0 else None


class FakeRequests(Requests):
    """Notes the order, and starts no clock that would end the tests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def keep(self) -> None:
        self.asked.append("keep")
        super().keep()

    def leave(self, reason: str, grace_s: float = 0.0) -> None:
        self.asked.append("leave")
        self.leave_reason = reason


def told_by(metadata: FakeMetadata, requests: FakeRequests, slept: list[float] | None = None) -> list[Notice]:
    told: list[Notice] = []
    sleep = [].append if slept is None else slept.append
    await_notices(metadata, told.append, requests, lambda: NOW, sleep)
    return told


def test_the_rank_stays_until_shortly_before_the_end() -> None:
    slept: list[float] = []
    requests = FakeRequests()
    told_by(FakeMetadata(None, None, NOTICE), requests, slept)
    assert requests.leave_reason is not None
    assert requests.leave_reason.startswith("interrupted by the spot service")
    assert slept[-1] == pytest.approx(120 - MARGIN_S)


def test_a_checkpoint_is_asked_for_at_the_notice_and_before_leaving() -> None:
    requests = FakeRequests()
    told_by(FakeMetadata(NOTICE), requests)
    assert requests.asked == ["keep", "keep", "leave"]
    assert requests.take_keep() and not requests.take_keep()


def test_the_notice_is_told_with_its_end() -> None:
    told = told_by(FakeMetadata(None, NOTICE), FakeRequests())
    assert told == [Notice(NoticeKind.INTERRUPTION, "2026-11-21T06:00:00.000Z", "2026-11-21T06:02:00.000Z")]


def test_a_recommendation_is_told_once_and_lets_the_rank_stay() -> None:
    requests = FakeRequests()
    told = told_by(FakeMetadata(None, None, None, NOTICE, at_risk_after=1), requests)
    assert [notice.kind for notice in told] == [NoticeKind.REBALANCE, NoticeKind.INTERRUPTION]
    assert told[0].ends_at is None


@pytest.mark.parametrize("notice", ["", "soon", "{}", '{"time": 5}', '{"time": "tomorrow"}', "[]"])
def test_a_notice_that_names_no_time_means_now(notice: str) -> None:
    assert ends_at(notice, otherwise=NOW) == NOW
    slept: list[float] = []
    requests = FakeRequests()
    told_by(FakeMetadata(notice), requests, slept)
    assert (requests.leave_reason is not None, slept) == (True, [0.0])
