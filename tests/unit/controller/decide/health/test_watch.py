"""What one look changes in the signs: who has moved, for how long, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from patient import FLAVOR

from controller.decide.health import Signs, watch
from controller.decide.health.signs import Condition
from controller.domain import (
    Fact,
    Fleet,
    HeadSeen,
    LauncherState,
    NodeSeen,
    Observation,
    TrainingState,
    UnknownNode,
    WorkerState,
)
from controller.domain.health import HealthLimits
from controller.domain.reasons import Reason, Said
from controller.domain.reasons.nodes import (
    AnsibleUnusable,
    Ec2Unreachable,
    FactMissing,
    FactOld,
    FactTorn,
    NodeUnreachable,
    NotAsked,
    TakesNoPart,
)

LIMITS = HealthLimits(gap_s=100.0)
RUNNING = HeadSeen(LauncherState.RUNNING)


def fact(node: int, step: int, **other: Any) -> Fact:
    values = {
        "instance_id": f"i-{node}",
        "flavor": FLAVOR,
        "rank": node,
        "world_size": 4,
        "state": TrainingState.TRAINING,
        "step": step,
        "iteration_time_s": 2.0,
        "compute_time_s": None,
        "samples": None,
        "tokens": None,
        "window": 0,
        "updated_at": 0.0,
        "total_steps": 1000,
        **other,
    }
    return Fact(**values)


def unknown(node: int, reason: Reason) -> UnknownNode:
    return UnknownNode(f"i-{node}", FLAVOR, reason)


def look(
    at: float,
    *seen: Fact | UnknownNode,
    head: HeadSeen | None = RUNNING,
    workers: Mapping[str, WorkerState] | None = None,
) -> Observation:
    return Observation(
        at,
        Fleet({FLAVOR: len(seen)}),
        tuple(one for one in seen if isinstance(one, Fact)),
        tuple(one for one in seen if isinstance(one, UnknownNode)),
        head,
        tuple(NodeSeen(name, worker) for name, worker in (workers or {}).items()),
    )


def after(*looks: Observation) -> Signs:
    signs = Signs()
    for one in looks:
        signs = watch(signs, one, LIMITS)
    return signs


def steps(at: float, *done: int, **other: Any) -> Observation:
    return look(at, *(fact(node, step) for node, step in enumerate(done)), **other)


START = steps(1000.0, 10, 10, 10, 10)


def test_the_first_look_shows_where_the_training_is_and_not_that_it_moves() -> None:
    signs = after(steps(1000.0, 10, 30, 20))
    assert (signs.at, signs.step, signs.left_s, signs.still_s, signs.is_moving) == (1000.0, 20, 1960.0, 0.0, False)
    assert (signs.launcher, signs.launcher_s, signs.head_silent_s) == (LauncherState.RUNNING, 0.0, None)
    one = signs.nodes["i-0"]
    assert (one.condition, one.for_s, one.step, one.marked_step) == (Condition.WELL, 0.0, 10, 10)
    assert (one.flavor, one.is_member, one.has_answered) == (FLAVOR, True, True)


@pytest.mark.parametrize(
    ("done", "is_moving"),
    [((10, 10, 10, 10), False), ((11, 10, 10, 10), False), ((11, 11, 10, 10), True), ((9, 9, 9, 9), False)],
)
def test_the_training_moves_when_at_least_half_of_its_ranks_do(done: tuple[int, ...], is_moving: bool) -> None:
    signs = after(START, steps(1020.0, *done))
    assert signs.is_moving is is_moving
    assert signs.still_s == (0.0 if is_moving else 20.0)
    assert signs.step == 10, "the median, or the step before"


@pytest.mark.parametrize(("ranks", "moved"), [(1, 1), (2, 1), (3, 2)])
def test_in_a_small_training_half_of_the_ranks_are_needed_too(ranks: int, moved: int) -> None:
    before, fewer = [10] * ranks, [20] * (moved - 1) + [10] * (ranks - moved + 1)
    assert after(steps(1000.0, *before), steps(1020.0, *([20] * moved), *([10] * (ranks - moved)))).is_moving
    assert not after(steps(1000.0, *before), steps(1020.0, *fewer)).is_moving


def test_members_that_never_made_a_step_do_not_count_as_ranks_that_stand_still() -> None:
    starting = [fact(node, 0, state=TrainingState.STARTING) for node in (1, 2)]
    assert after(look(1000.0, fact(0, 10), *starting), look(1020.0, fact(0, 20), *starting)).is_moving


def test_a_training_without_ranks_does_not_move() -> None:
    signs = after(*(look(at, unknown(0, FactMissing()), unknown(1, FactMissing())) for at in (1000.0, 1020.0)))
    assert (signs.is_moving, signs.still_s) == (False, 20.0)


def test_steps_that_ranks_show_at_different_looks_count_together() -> None:
    assert after(START, steps(1020.0, 11, 10, 10, 10), steps(1040.0, 11, 11, 10, 10)).is_moving


def test_where_those_that_moved_say_no_more_what_they_said_is_kept() -> None:
    """The first rank made a step; then it is the only one that counts, and its fact is old."""
    old, torn = unknown(0, FactOld(70.0, 60.0)), [unknown(node, FactTorn("step is None")) for node in (1, 2, 3)]
    signs = after(START, steps(1020.0, 11, 10, 10, 10), look(1040.0, old, *torn))
    assert (signs.is_moving, signs.step, signs.left_s) == (True, 10, 1980.0)


@pytest.mark.parametrize(("at", "counted_s"), [(1020.0, 20.0), (1100.0, 100.0), (1101.0, 100.0), (990.0, 0.0)])
def test_only_time_that_was_watched_counts(at: float, counted_s: float) -> None:
    signs = after(START, replace(START, at=at))
    assert (signs.at, signs.still_s, signs.launcher_s) == (at, counted_s, counted_s)


@pytest.mark.parametrize("reason", [NotAsked(), Ec2Unreachable(Said("timeout")), AnsibleUnusable(Said("broken"))])
def test_a_look_that_could_ask_nobody_changes_nothing_but_the_time(reason: Reason) -> None:
    seen = after(START, steps(1020.0, 20, 20, 20, 20))
    blind = watch(seen, look(1040.0, fact(0, 30), unknown(1, FactMissing()), unknown(2, reason)), LIMITS)
    assert blind == replace(seen, at=1040.0, is_moving=False)
    assert watch(seen, look(1040.0, head=None), LIMITS) == blind, "nothing at all was seen"


def test_while_the_head_is_silent_the_training_does_not_count_as_still() -> None:
    signs = after(START, steps(1020.0, 10, 10, 10, 10, head=None), steps(1040.0, 10, 10, 10, 10, head=None))
    assert (signs.still_s, signs.head_silent_s, signs.launcher_s) == (0.0, 20.0, 0.0)


def test_when_the_head_answers_again_the_state_of_its_launcher_begins_anew() -> None:
    long, silent = replace(START, at=1050.0), replace(START, at=1060.0, head=None)
    assert (after(START, long).launcher_s, after(START, long, silent).launcher_s) == (50.0, 50.0)
    back = after(START, long, silent, replace(START, at=1080.0))
    assert (back.head_silent_s, back.launcher_s) == (None, 0.0)
    assert after(START, long, silent, replace(START, at=1080.0), replace(START, at=1090.0)).launcher_s == 10.0
    dead = replace(START, at=1080.0, head=HeadSeen(LauncherState.DEAD))
    assert (after(START, long, dead).launcher, after(START, long, dead).launcher_s) == (LauncherState.DEAD, 0.0)


@pytest.mark.parametrize(
    ("shown", "condition", "for_s"),
    [
        (fact(3, 10), Condition.STILL, 20.0),
        (fact(3, 10, state=TrainingState.DRAINING), Condition.WELL, 0.0),
        (fact(3, 10, state=TrainingState.INTERRUPTED), Condition.WELL, 0.0),
        (fact(3, 10, state=TrainingState.FINISHED), Condition.WELL, 0.0),
        (fact(3, 0, state=TrainingState.STARTING), Condition.STILL, 20.0),
        (unknown(3, FactOld(70.0, 60.0)), Condition.STILL, 20.0),
        (unknown(3, FactMissing()), Condition.STILL, 20.0),
        (unknown(3, FactTorn("step is None")), Condition.WELL, 0.0),
        (unknown(3, NodeUnreachable("timed out")), Condition.SILENT, 20.0),
        (unknown(3, TakesNoPart()), Condition.SILENT, 20.0),
    ],
)
def test_a_member_beside_others_that_make_steps(shown: Fact | UnknownNode, condition: Condition, for_s: float) -> None:
    """A state lasts from the second look that shows it."""
    first = look(1020.0, fact(0, 20), fact(1, 20), fact(2, 20), shown)
    second = look(1040.0, fact(0, 30), fact(1, 30), fact(2, 30), shown)
    node = after(START, first, second).nodes["i-3"]
    assert (node.condition, node.for_s) == (condition, for_s)


def test_a_rank_that_stood_still_stays_so_while_nobody_moves_and_is_well_when_it_moves() -> None:
    moved = steps(1020.0, 20, 20, 20, 10)
    waiting = steps(1040.0, 20, 20, 20, 10)
    node = after(START, moved, waiting).nodes["i-3"]
    assert (node.condition, node.for_s) == (Condition.STILL, 0.0)
    again = after(START, moved, waiting, steps(1060.0, 30, 30, 30, 10)).nodes["i-3"]
    assert (again.condition, again.for_s) == (Condition.STILL, 40.0), "all the time that the others took"
    assert after(START, moved, steps(1060.0, 30, 30, 30, 11)).nodes["i-3"].condition is Condition.WELL


@pytest.mark.parametrize(("stepped", "condition"), [(1, Condition.WELL), (2, Condition.IDLE)])
def test_a_member_without_a_step_is_idle_when_more_than_half_of_all_have_one(
    stepped: int, condition: Condition
) -> None:
    """Beside the one without a step, there is one member that has made steps, or there are two."""
    ranks = [fact(node, 10) for node in range(stepped)]
    shown = (*ranks, fact(3, 0, state=TrainingState.STARTING))
    assert after(look(1000.0, *shown), look(1020.0, *shown)).nodes["i-3"].condition is condition


@pytest.mark.parametrize(
    ("reason", "worker", "condition"),
    [
        (FactMissing(), WorkerState.DEAD, Condition.DEAD),
        (FactMissing(), WorkerState.WARM, Condition.WELL),
        (FactMissing(), None, Condition.WELL),
        (TakesNoPart(), WorkerState.DEAD, Condition.WELL),
        (TakesNoPart(), None, Condition.SILENT),
        (NodeUnreachable("no"), WorkerState.WARM, Condition.WELL),
        (NodeUnreachable("no"), None, Condition.SILENT),
    ],
)
def test_a_node_is_silent_or_dead_by_what_is_seen_of_it(
    reason: Reason, worker: WorkerState | None, condition: Condition
) -> None:
    workers = {} if worker is None else {"i-3": worker}
    node = after(look(1000.0, unknown(3, reason), workers=workers)).nodes["i-3"]
    assert node.condition is condition
    assert node.has_answered is (condition is not Condition.SILENT)
    assert node.is_member is (reason != TakesNoPart())


def test_the_head_is_not_there_to_tell_how_nodes_are() -> None:
    silent = look(1000.0, unknown(3, NodeUnreachable("no")))
    blind = look(1020.0, unknown(3, FactMissing()), head=None)
    node = after(silent, blind).nodes["i-3"]
    assert (node.condition, node.for_s, node.has_answered) == (Condition.SILENT, 0.0, True)


@pytest.mark.parametrize(
    ("facts", "left_s"),
    [
        ((fact(0, 900),), 200.0),
        ((fact(0, 1100),), 0.0),
        ((fact(0, 900, iteration_time_s=None),), None),  # a world's first steps
        ((fact(0, 1000, iteration_time_s=None),), 0.0),
        ((fact(0, 900, iteration_time_s=None), fact(1, 900)), 200.0),
        ((fact(0, 900), fact(1, 800), fact(2, 0, total_steps=None)), 200.0),
        ((fact(0, 900, total_steps=None),), None),
        ((fact(0, 0, state=TrainingState.STARTING),), None),
    ],
)
def test_what_remains_is_the_steps_at_their_last_time(facts: tuple[Fact, ...], left_s: float | None) -> None:
    assert after(look(1000.0, *facts)).left_s == left_s
