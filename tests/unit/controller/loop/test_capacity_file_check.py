"""A controller that begins anew knows the capacity file of an unfinished move, and what somebody else has written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.domain import Fleet, Move, MovePhase
from controller.domain.errors import CapacityFileError
from controller.domain.reasons import Said
from controller.loop.job import Job
from controller.loop.moving import check_capacity_file

SOURCE, TARGET = Fleet({"a": 2}), Fleet({"a": 1, "b": 1, "c": 1})
PROBE = Move(1, 0.0, SOURCE, TARGET, Said("to measure"), MovePhase.GROWING, is_probe=True)


def job(fleet: Fleet, move: Move = PROBE, asked: Fleet = SOURCE) -> Job:
    """Returns a job with a move under way, a capacity file that asks for a fleet, and groups that ask for another."""
    capacity: Any = SimpleNamespace(read=lambda: fleet, path=Path("capacity.auto.tfvars.json"))
    journal = SimpleNamespace(move_under_way=lambda: move)
    return cast(
        Job, SimpleNamespace(journal=journal, cluster=SimpleNamespace(capacity=capacity, desired=lambda: asked))
    )


@pytest.mark.parametrize("fleet", [SOURCE, TARGET, SOURCE.union(TARGET), Fleet({})])
def test_each_step_of_a_move_is_known(fleet: Fleet) -> None:
    check_capacity_file(job(fleet))


def test_what_a_probe_grew_to_before_it_went_on_without_a_flavor_is_known() -> None:
    rest = PROBE.without({"c"})
    assert rest is not None
    check_capacity_file(job(SOURCE.union(TARGET), rest))
    check_capacity_file(job(rest.target, rest))


@pytest.mark.parametrize("fleet", [Fleet({"a": 3}), Fleet({"a": 3, "b": 1, "c": 1})])
def test_a_lost_node_that_its_group_replaces_is_no_change_by_somebody_else(fleet: Fleet) -> None:
    """The move began while its group asked for a node more than ran."""
    check_capacity_file(job(fleet, asked=Fleet({"a": 3})))


@pytest.mark.parametrize("fleet", [Fleet({"a": 3}), Fleet({"a": 2, "b": 1, "c": 2})])
def test_what_is_no_step_of_the_move_was_written_by_somebody_else(fleet: Fleet) -> None:
    with pytest.raises(CapacityFileError, match="someone else has changed it"):
        check_capacity_file(job(fleet))
