"""What a move leaves behind at each step: its row, and a line for people."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from controller.act.track import Track
from controller.domain import Fleet, Move, MovePhase
from controller.domain.reasons import Said
from tests.unit.controller.act.fleet_in_memory import BEGAN_AT, Clock

MOVE = Move(1, BEGAN_AT, Fleet({"a": 1}), Fleet({"b": 1}), Said("cheaper"))


@dataclass
class Left:
    """What a track has left behind."""

    saved: list[Move] = field(default_factory=list)
    told: list[tuple[Move, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.track = Track(Clock(), self.saved.append, lambda move, note: self.told.append((move, note)))


@pytest.fixture
def left() -> Left:
    return Left()


def test_the_same_thing_is_told_again_only_after_something_else(left: Left) -> None:
    for note in ("a", "a", "b", "b", "a"):
        left.track.tell_once(MOVE, note)
    assert left.told == [(MOVE, "a"), (MOVE, "b"), (MOVE, "a")]


def test_a_next_phase_is_saved_and_told(left: Left) -> None:
    entered = left.track.enter(MOVE, MovePhase.GROWING, "it grows")
    assert entered == replace(MOVE, phase=MovePhase.GROWING)
    assert (left.saved, left.told) == ([entered], [(entered, "it grows")])


def test_a_move_that_turns_back_keeps_and_tells_why(left: Left) -> None:
    turned = left.track.turn_back(MOVE, Said("no room"))
    assert turned == replace(MOVE, outcome_reason=Said("no room"))
    assert (left.saved, left.told) == ([turned], [(turned, "rolling back: no room")])


def test_a_move_that_ends_keeps_when_and_tells_why_or_what_trains_now(left: Left) -> None:
    done = left.track.end(MOVE, MovePhase.DONE, None)
    assert done == replace(MOVE, phase=MovePhase.DONE, ended_at=BEGAN_AT)
    undone = left.track.end(MOVE, MovePhase.ROLLED_BACK, Said("no room"))
    assert undone == replace(MOVE, phase=MovePhase.ROLLED_BACK, outcome_reason=Said("no room"), ended_at=BEGAN_AT)
    assert left.saved == [done, undone]
    assert left.told == [(done, f"the fleet is {MOVE.target}"), (undone, "no room")]
