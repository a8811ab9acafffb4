"""No more nodes are exchanged at once than `max_surge` allows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.decide import DecideSettings
from controller.decide.limits.bounds import Bounds
from controller.decide.limits.surge import exchange, first_move, moves_needed
from controller.domain import Fleet, Limits, Verdict
from controller.domain.reasons.deciding import CheaperPerToken
from controller.domain.reasons.limits import FirstOfSeveralMoves, SurgeForbidsMove

COST = {"a": 1.0, "b": 2.0, "c": 3.0}


def surge(source: Fleet, target: Fleet) -> int:
    """Nodes above the larger of the two fleets' sizes while both run."""
    return source.union(target).size - max(source.size, target.size)


@given(seed=st.integers(0, 10**9))
def test_any_fleet_is_reached_within_the_surge_and_the_limits_in_as_many_moves_as_is_said(seed):
    rng = random.Random(seed)
    source, target = (Fleet({flavor: rng.randint(0, 5) for flavor in "bc"} | {"a": rng.randint(1, 5)}) for _ in "st")
    max_surge = rng.randint(0, 3)
    sizes = sorted((source.size, target.size))
    bounds = Bounds(dict.fromkeys(COST, 5), rng.randint(1, sizes[0]), sizes[1] + rng.randint(0, 2))
    needed, moves, fleet = moves_needed(exchange(source, target), max_surge, bounds), 0, source
    while fleet != target and moves < 100:
        change = exchange(fleet, target)
        assert surge(fleet, target) == change.surge
        after = target if change.keeps(max_surge) else first_move(change, max_surge, bounds, COST.__getitem__)
        if after is None:
            assert max_surge == 0 and bounds.min_nodes == bounds.max_nodes == source.size
            return
        assert surge(fleet, after) <= max_surge
        assert min(bounds.min_nodes, fleet.size) <= after.size <= max(bounds.max_nodes, fleet.size)
        fleet, moves = after, moves + 1
    assert fleet == target
    assert not max_surge or moves == (needed if source != target else 0)


@pytest.mark.parametrize(
    ("bounds", "room"),
    [
        (Bounds(COST, 1, None), (5, 3)),
        (Bounds(COST, 0, None), (5, 3)),
        (Bounds(COST, 2, 6), (2, 2)),
        (Bounds(COST, 4, 4), (0, 0)),
        (Bounds(COST, 6, 2), (0, 0)),
    ],
)
def test_there_is_room_for_what_the_limits_leave_above_and_below_the_present_size(
    bounds: Bounds, room: tuple[int, int]
) -> None:
    change = exchange(Fleet({"a": 4}), Fleet({"b": 5}))
    assert change.room(bounds) == room, "the fleet never ends as a whole"


@pytest.mark.parametrize(
    ("max_surge", "bounds", "moves"),
    [
        (None, Bounds(COST), 1),
        (4, Bounds(COST), 1),
        (3, Bounds(COST), 2),
        (1, Bounds(COST), 4),
        (0, Bounds(COST, 1, 6), 4),
        (0, Bounds(COST, 3, 5), 8),
        (0, Bounds(COST, 1, 4), 4),
        (0, Bounds(COST, 4, 4), 1),
    ],
)
def test_as_many_moves_are_needed_as_the_surge_and_the_room_ask_for(
    max_surge: int | None, bounds: Bounds, moves: int
) -> None:
    assert moves_needed(exchange(Fleet({"a": 4}), Fleet({"b": 5})), max_surge, bounds) == moves


def test_the_cheapest_flavor_is_added_first_and_by_name_where_two_cost_the_same() -> None:
    costs = {"a": 9.0, "b": 3.0, "c": 3.0, "d": 1.0}
    change = exchange(Fleet({"a": 3}), Fleet({"b": 1, "c": 1, "d": 1}))
    assert first_move(change, 1, Bounds(costs), costs.__getitem__) == Fleet({"a": 2, "d": 1})
    assert first_move(change, 2, Bounds(costs), costs.__getitem__) == Fleet({"a": 1, "d": 1, "b": 1})


def test_a_move_of_six_nodes_is_made_two_at_a_time_most_expensive_first(training):
    training.fleet = Fleet({"t2.xlarge": 3, "c5.xlarge": 3})
    limits = Limits(6, 6, max_surge=2)
    training.observations = (training.__class__(now=500.0, step=500).observe(),)
    targets = []
    while (decision := training.decide(limits, DecideSettings(probe_share=0.0))).verdict is Verdict.MOVE:
        targets.append(decision.target)
        assert surge(training.fleet, decision.target) <= 2
        training.make(decision)
    assert targets == [
        Fleet({"t2.xlarge": 1, "c5.xlarge": 3, "c5.large": 2}),
        Fleet({"c5.xlarge": 2, "c5.large": 4}),
        Fleet({"c5.large": 6}),
    ]


def test_each_of_the_moves_says_that_it_is_not_the_whole(training):
    decision = training.decide(Limits(6, 6, max_surge=2))
    reason = decision.reason
    assert isinstance(reason, FirstOfSeveralMoves) and isinstance(reason.whole, CheaperPerToken)
    assert (reason.target, reason.max_surge, reason.whole.target) == (decision.target, 2, Fleet({"c5.large": 6}))


def test_without_any_surge_nodes_are_added_first_where_there_is_room(training):
    decision = training.decide(Limits(6, 8, max_surge=0), DecideSettings(probe_share=0.0))
    assert decision.target == training.fleet.with_count("c5.large", 3)


def test_without_any_surge_nodes_are_ended_first_where_there_is_no_room(training):
    decision = training.decide(Limits(5, 6, max_surge=0), DecideSettings(probe_share=0.0))
    assert decision.target == training.fleet.with_count("t2.xlarge", 0)


def test_without_any_surge_a_fleet_that_must_keep_its_size_is_told_why_it_stays(training):
    decision = training.decide(Limits(6, 6, max_surge=0), DecideSettings(probe_share=0.0))
    assert decision.verdict is Verdict.REFUSE
    assert decision.target == training.fleet
    reason = decision.reason
    assert isinstance(reason, SurgeForbidsMove) and isinstance(reason.whole, CheaperPerToken)
    assert (reason.max_surge, reason.whole.target) == (0, Fleet({"c5.large": 6}))


def test_a_probe_keeps_within_the_surge(training):
    training.fleet = Fleet({"c5.xlarge": 6})
    within = training.decide(Limits(6, 6, max_surge=1))
    without = training.decide(Limits(6, 6, max_surge=0))
    assert within.is_probe and surge(training.fleet, within.target) == 1
    assert without.verdict is not Verdict.MOVE
