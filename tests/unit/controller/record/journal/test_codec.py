"""Domain values as JSON: compact, strict, and read back from older journals too."""

from __future__ import annotations

import math

import pytest

from controller.domain import FlavorEstimate, Fleet, Move, MovePhase
from controller.domain.reasons import Said
from controller.domain.reasons.nodes import FactMissing
from controller.record.journal.codec import flavor_from_plain, move_from_row, move_to_row, plain, to_json

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
