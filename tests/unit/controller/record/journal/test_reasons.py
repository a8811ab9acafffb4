"""Reasons as JSON: every kind comes back, and what another version wrote is kept as words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from controller.domain import Fleet
from controller.domain.reasons import REASONS, Reason, Said
from controller.domain.reasons.deciding import MoveUnderWay, NoWorkerRuns, WaitingForFacts
from controller.domain.reasons.moving import ConfiguringFailed, DidNotJoin, NoCapacity, RankFailed
from controller.record.journal.reasons import described_reason, plain_reason, reason_from_plain, reason_from_text

KEPT: list[tuple[Reason, dict[str, object]]] = [
    (NoWorkerRuns(), {"code": "no-worker-runs"}),
    (WaitingForFacts(("a", "b")), {"code": "waiting-for-facts", "flavors": ["a", "b"]}),
    (NoCapacity({"a": "none left"}), {"code": "no-capacity", "failures": {"a": "none left"}}),
    (
        MoveUnderWay(3, Fleet({"a": 2}), "growing"),
        {"code": "move-under-way", "move_id": 3, "target": {"a": 2}, "phase": "growing"},
    ),
]


@pytest.mark.parametrize(("reason", "plain"), KEPT, ids=str)
def test_a_reason_is_its_code_and_its_facts(reason: Reason, plain: dict[str, object]) -> None:
    assert plain_reason(reason) == plain


@pytest.mark.parametrize(
    "reason",
    [
        *(reason for reason, _ in KEPT),
        DidNotJoin({"i-1": "a"}, 3, 20.0),
        RankFailed("i-1", "a", None),
        RankFailed("i-1", "a", "out of memory"),
        ConfiguringFailed(Said("no route")),
    ],
    ids=str,
)
def test_a_reason_comes_back_the_same_from_json(reason: Reason) -> None:
    back = reason_from_text(json.dumps(plain_reason(reason)))
    assert back == reason
    assert [type(getattr(back, name)) for name in vars(reason)] == [type(value) for value in vars(reason).values()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no capacity", "no capacity"),
        ('"quoted"', "quoted"),
        ("5", "5"),
        ('{"code":"of-another-version"}', "of-another-version"),
        ('{"code":"of-another-version","a":1,"b":"x"}', "of-another-version: a 1, b x"),
        ('{"code":"move-under-way","move_id":3}', "move-under-way: move_id 3"),
        ('{"a":1}', "None: a 1"),
    ],
)
def test_what_is_no_reason_of_this_version_is_kept_as_words(text: str, words: str) -> None:
    assert reason_from_text(text) == Said(words)


def test_facts_that_this_version_does_not_know_are_left_out() -> None:
    assert reason_from_plain({"code": "no-worker-runs", "since": 5}) == NoWorkerRuns()


def test_a_reason_is_shown_in_words_with_its_code_and_facts() -> None:
    assert described_reason(Said("because")) == {
        "reason": "because",
        "reason_code": "said",
        "reason_facts": {"text": "because"},
    }


def test_a_reason_is_shown_under_the_keys_that_are_asked_for() -> None:
    shown = described_reason(WaitingForFacts(("a",)), "why", "outcome")
    assert set(shown) == {"why", "outcome_code", "outcome_facts"}
    assert (shown["outcome_code"], shown["outcome_facts"]) == ("waiting-for-facts", {"flavors": ["a"]})
    assert described_reason(None, "why", "outcome") == {"why": None, "outcome_code": None, "outcome_facts": None}
    assert described_reason(None) == {"reason": None, "reason_code": None, "reason_facts": None}


@dataclass(frozen=True)
class Nested(Reason):
    """A reason with every kind of fact that a reason may have."""

    code: ClassVar[str] = "nested-for-a-test"
    parts: tuple[Reason, ...]
    by_name: Mapping[str, Reason]
    numbers: Mapping[str, float]
    fleet: Fleet
    best: Reason | None = None
    share: float | None = None


@pytest.mark.parametrize("best", [None, Said("why")])
def test_reasons_within_reasons_come_back(monkeypatch: pytest.MonkeyPatch, best: Reason | None) -> None:
    monkeypatch.setitem(REASONS, Nested.code, Nested)  # type: ignore[misc]
    reason = Nested((Said("a"), NoWorkerRuns()), {"x": Said("b")}, {"y": 1.0}, Fleet({"a": 1}), best, 0.5)
    assert reason_from_text(json.dumps(plain_reason(reason))) == reason
