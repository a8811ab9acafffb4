"""Domain values as JSON: compact, strict, and read back from older journals too."""

from __future__ import annotations

import math

import pytest

from controller.domain import Decision, Fact, FlavorEstimate, Fleet, Move, MovePhase, NoticeKind, TrainingState, Verdict
from controller.domain.decision import Risk
from controller.domain.observed.fact import Notice
from controller.domain.reasons import Said
from controller.domain.reasons.nodes import FactMissing
from controller.record.journal.codec import (
    flavor_from_plain,
    move_from_row,
    move_to_row,
    packed,
    plain,
    read_decision,
    read_facts,
    to_json,
)

MOVE = Move(1, 5.0, Fleet({"a": 1}), Fleet({"b": 1}), Said("cheaper"))


def test_json_has_no_spaces_and_sets_are_in_order() -> None:
    assert to_json({"b": (1, 2.5), "a": frozenset({"y", "x"})}) == '{"b":[1,2.5],"a":["x","y"]}'


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_json_does_not_know_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json([number])


def test_the_notes_on_a_flavor_come_back() -> None:
    estimate = FlavorEstimate("a", 0.1, 100.0, notes=(FactMissing(), Said("slow")))
    assert flavor_from_plain(plain(estimate)) == estimate


def test_an_older_journals_single_note_on_a_flavor_comes_back_as_words() -> None:
    raw = {"flavor": "a", "usd_per_hour": 0.1, "tokens_per_s": 100.0}
    assert flavor_from_plain({**raw, "note": "slow"}) == FlavorEstimate("a", 0.1, 100.0, notes=(Said("slow"),))
    assert flavor_from_plain({**raw, "note": None}) == FlavorEstimate("a", 0.1, 100.0)
    assert flavor_from_plain(raw) == FlavorEstimate("a", 0.1, 100.0)


@pytest.mark.parametrize("is_probe", [True, False])
def test_a_row_says_whether_a_move_is_a_probe(is_probe: bool) -> None:
    move = Move(1, 5.0, Fleet({"a": 1}), Fleet({"b": 1}), Said("cheaper"), is_probe=is_probe)
    back = move_from_row(move_to_row(move))
    assert back == move and type(back.is_probe) is bool


def test_a_row_has_plain_columns_only() -> None:
    row = move_to_row(MOVE)
    assert (row["phase"], type(row["phase"])) == (MovePhase.PROPOSED.value, str)
    assert (row["source"], row["drain"], row["outcome_reason"]) == ('{"a":1}', "[]", None)


@pytest.mark.parametrize("notice", [None, Notice(NoticeKind.REBALANCE, 4.0), Notice(NoticeKind.INTERRUPTION, 4.0, 9.5)])
def test_what_the_spot_service_says_of_a_node_comes_back_with_its_fact(notice: Notice | None) -> None:
    fact = Fact("i-1", "a", 0, 2, TrainingState.TRAINING, 10, 0.5, 0.4, 8.0, 100.0, 10, 5.0, notice=notice)
    assert read_facts(packed((fact,))) == (fact,)


@pytest.mark.parametrize("risk", [None, Risk(chance_kept=0.75), Risk(Fleet({"b": 1}), 0.25, 1.5, 60.0, 0.5)])
def test_how_sure_a_decision_is_comes_back_with_it(risk: Risk | None) -> None:
    fleet = Fleet({"a": 1})
    decision = Decision(5.0, "p", Verdict.STAY, fleet, fleet, Said("cheapest"), risk=risk)
    assert read_decision(packed(decision)) == decision


def test_a_row_says_what_a_probe_went_on_without() -> None:
    move = Move(1, 5.0, Fleet({"a": 1}), Fleet({"b": 1}), Said("cheaper"), left_out=Fleet({"c": 1}))
    assert move_from_row(move_to_row(move)) == move


@pytest.mark.parametrize("older", [{}, {"left_out": None}])
def test_an_older_journals_moves_went_on_without_nothing(older: dict[str, None]) -> None:
    row = {name: value for name, value in move_to_row(MOVE).items() if name != "left_out"} | older
    assert move_from_row(row) == MOVE
