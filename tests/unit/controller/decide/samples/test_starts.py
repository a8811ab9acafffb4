"""When nodes began to train, by what was seen of them and by the moves that they joined in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.samples.starts import began_to_train, last_seen
from controller.domain import Fact, Fleet, Move, MovePhase, Observation, Progress
from controller.domain.reasons import Said
from tests.unit.controller.decide.model.test_communication import fact

ONE, TWO = Fleet({"c5.large": 1}), Fleet({"c5.large": 2})


def look(at: float, *instances: str) -> Observation:
    facts: tuple[Fact, ...] = tuple(replace(fact(0, 1), instance_id=instance) for instance in instances)
    return Observation(at, Fleet({"c5.large": len(instances)}), facts)


def grown(ended_at: float | None, *instances: str) -> Move:
    """Begins at 150 s."""
    phase = MovePhase.GROWING if ended_at is None else MovePhase.DONE
    return Move(1, 150.0, ONE, TWO, Said("grow"), phase, ended_at=ended_at, grown=instances)


LOOKS = (look(100.0, "a"), look(200.0, "a", "b"), look(300.0, "b", "c"))


@pytest.mark.parametrize(
    ("started_at", "first"),
    [(40.0, 40.0), (140.0, 100.0), (None, 100.0)],
    ids=["began before", "is said to have begun later", "not begun"],
)
def test_the_first_nodes_began_with_the_training_and_others_when_first_seen(
    started_at: float | None, first: float
) -> None:
    progress = None if started_at is None else Progress(10, 100, 1000, started_at, 300.0)
    assert began_to_train(LOOKS, (), progress) == {"a": first, "b": 200.0, "c": 300.0}


@pytest.mark.parametrize(("ended_at", "joined_at"), [(190.0, 190.0), (0.0, 0.0), (None, 150.0)])
def test_a_node_that_joined_in_a_move_began_when_the_move_ended(ended_at: float | None, joined_at: float) -> None:
    """While the move is under way, its beginning is known. A node that was never seen is left out."""
    moves = (grown(ended_at, "b", "never seen"),)
    assert began_to_train(LOOKS, moves, None) == {"a": 100.0, "b": joined_at, "c": 300.0}


def test_a_node_was_seen_last_in_its_last_fact() -> None:
    assert last_seen(LOOKS) == {"a": 200.0, "b": 300.0, "c": 300.0}
