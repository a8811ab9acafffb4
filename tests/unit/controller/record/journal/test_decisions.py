"""The decisions of a run, by number and by verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.domain import Decision, FlavorEstimate, Fleet, FleetEstimate, Verdict
from controller.domain.reasons import Said
from controller.domain.reasons.nodes import FactMissing
from controller.record.journal import Journal

FLEET = Fleet({"c5.large": 2})
STAY = Decision(
    5.0,
    "p",
    Verdict.STAY,
    FLEET,
    FLEET,
    Said("cheapest"),
    flavors=(FlavorEstimate("c5.large", 0.1, 100.0, notes=(FactMissing(), Said("slow"))),),
    fleets=(FleetEstimate(FLEET, 0.5, 200.0, 0.2, 0.3),),
    scaling=(FleetEstimate(Fleet({"c5.large": 3}), 0.4, 250.0, 0.3, 0.4),),
    is_probe=True,
    bad_nodes=("i-1", "i-2"),
)
MOVE = replace(STAY, at=6.0, verdict=Verdict.MOVE, target=Fleet({"t2.medium": 1}))


@pytest.fixture
def journal(begun: Journal) -> Journal:
    """Three decisions: the fleet stays, moves and stays."""
    for decision in (STAY, MOVE, replace(STAY, at=7.0)):
        begun.add_decision(decision)
    return begun


def test_a_run_without_decisions_has_no_last_one(begun: Journal) -> None:
    assert (begun.last_decision(), begun.last_decision_number(), list(begun.decisions())) == (None, 0, [])


def test_decisions_come_back_whole_oldest_first(journal: Journal, reopened: Callable[[], Journal]) -> None:
    assert list(reopened().decisions()) == [STAY, MOVE, replace(STAY, at=7.0)]
    assert reopened().last_decision() == replace(STAY, at=7.0)


def test_decisions_are_numbered_from_one(journal: Journal) -> None:
    assert journal.last_decision_number() == 3
    assert list(journal.decisions_after(1)) == [(2, MOVE), (3, replace(STAY, at=7.0))]


def test_decisions_are_found_by_verdict(journal: Journal) -> None:
    assert journal.numbers_of(Verdict.STAY) == [1, 3]
    assert journal.numbers_of(Verdict.MOVE) == [2]
    assert journal.numbers_of(Verdict.REFUSE) == []


def test_a_decision_as_plain_data_has_its_reason_with_its_code(journal: Journal) -> None:
    plain = list(journal.plain_decisions())
    assert [decision["at"] for decision in plain] == [5.0, 6.0, 7.0]
    assert plain[1]["verdict"] == "move" and plain[1]["target"] == {"t2.medium": 1}
    assert plain[1]["reason"]["code"] == "said"


def test_when_by_whom_and_why_a_decision_was_made_can_be_asked_of_the_database(journal: Journal) -> None:
    row = journal._database.execute("SELECT at, policy, verdict, reason FROM decisions WHERE id = 2").fetchone()
    assert tuple(row) == (6.0, "p", "move", "said")
