"""No more runs during a move than `max_surge` and `max_usd_per_hour` allow."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide import DecideSettings
from controller.decide.limits.bounds import SLACK, Bounds
from controller.decide.limits.surge import Surge, exchange, first_move, moves_needed
from controller.domain import Fleet, Limits, Verdict
from controller.domain.reasons.deciding import CheaperPerToken
from controller.domain.reasons.limits import (
    BreaksLimit,
    FirstOfSeveralMoves,
    FirstWithinHourlyLimit,
    HourlyLimitForbidsMove,
    SurgeForbidsMove,
)

COST = {"a": 1.0, "b": 2.0, "c": 3.0}


def surge(source: Fleet, target: Fleet) -> int:
    """Nodes above the larger of the two fleets' sizes while both run."""
    return source.union(target).size - max(source.size, target.size)


@settings(deadline=None)
@given(seed=st.integers(0, 10**9))
def test_any_fleet_is_reached_within_the_surge_and_the_limits_in_as_many_moves_as_is_said(seed):
    rng = random.Random(seed)
    source, target = (Fleet({flavor: rng.randint(0, 5) for flavor in "bc"} | {"a": rng.randint(1, 5)}) for _ in "st")
    max_surge = rng.randint(0, 3)
    sizes = sorted((source.size, target.size))
    bounds = Bounds(dict.fromkeys(COST, 5), rng.randint(1, sizes[0]), sizes[1] + rng.randint(0, 2))
    limit = Surge(max_surge)
    needed, moves, fleet = moves_needed(exchange(source, target), limit, bounds), 0, source
    while fleet != target and moves < 100:
        change = exchange(fleet, target)
        assert surge(fleet, target) == change.surge
        after = target if limit.allows(change) else first_move(change, limit, bounds, COST.__getitem__)
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
    assert moves_needed(exchange(Fleet({"a": 4}), Fleet({"b": 5})), Surge(max_surge), bounds) == moves


def test_the_cheapest_flavor_is_added_first_and_by_name_where_two_cost_the_same() -> None:
    costs = {"a": 9.0, "b": 3.0, "c": 3.0, "d": 1.0}
    change = exchange(Fleet({"a": 3}), Fleet({"b": 1, "c": 1, "d": 1}))
    assert first_move(change, Surge(1), Bounds(costs), costs.__getitem__) == Fleet({"a": 2, "d": 1})
    assert first_move(change, Surge(2), Bounds(costs), costs.__getitem__) == Fleet({"a": 1, "d": 1, "b": 1})


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


# The hourly limit counts what really runs

PRICE = {"a": 0.1, "b": 0.25, "c": 0.7}
HEAD = 0.05


@st.composite
def hourly_cases(draw):
    """Draws two fleets, the limits that both keep, and what a million tokens cost by flavor."""
    fleets = st.fixed_dictionaries(dict.fromkeys(PRICE, st.integers(0, 5))).map(Fleet).filter(lambda fleet: fleet.size)
    source, target = draw(fleets), draw(fleets)
    least_usd = max(source.usd_per_hour(PRICE), target.usd_per_hour(PRICE)) + HEAD
    money = least_usd + draw(st.floats(0, 2))
    max_surge = draw(st.none() | st.integers(0, 4))
    sizes = sorted((source.size, target.size))
    bounds = Bounds(dict.fromkeys(PRICE, 5), draw(st.integers(1, sizes[0])), sizes[1], money)
    cost = draw(st.fixed_dictionaries(dict.fromkeys(PRICE, st.floats(0.01, 9))))
    return source, target, Surge(max_surge, money, PRICE, HEAD), bounds, cost


def running(source: Fleet, target: Fleet) -> float:
    """Dollars per hour of everything that runs during a move, counted in another way than the code does."""
    counts = {flavor: max(source.count(flavor), target.count(flavor)) for flavor in PRICE}
    return HEAD + sum(count * PRICE[flavor] for flavor, count in counts.items())


@settings(deadline=None)
@given(case=hourly_cases())
def test_during_each_move_no_more_is_paid_than_the_hourly_limit_and_the_target_is_reached(case):
    fleet, target, limit, bounds, cost = case
    for _ in range(100):
        if fleet == target:
            return
        change = exchange(fleet, target)
        after = target if limit.allows(change) else first_move(change, limit, bounds, cost.__getitem__)
        if after is None:
            assert fleet.size <= bounds.min_nodes, "nodes might have left first"
            assert (
                min(running(fleet, fleet.with_count(f, fleet.count(f) + 1)) for f in change.added.present)
                > (limit.max_usd_per_hour)
                or limit.max_nodes == 0
            ), "a node might have been added first"
            return
        assert after != fleet
        assert running(fleet, after) <= limit.max_usd_per_hour * (1 + 1e-6)
        assert limit.max_nodes is None or surge(fleet, after) <= limit.max_nodes
        assert bounds.min_nodes <= after.size <= bounds.max_nodes
        assert fleet.union(after).size <= max(fleet.size, after.size) + (limit.max_nodes or fleet.union(after).size)
        fleet = after
    raise AssertionError(f"{target} was not reached")


@settings(deadline=None)
@given(case=hourly_cases(), over=st.floats(0.01, 2))
def test_a_fleet_above_the_hourly_limit_only_shrinks_until_it_keeps_it(case, over):
    fleet, target, limit, bounds, cost = case
    limit = Surge(limit.max_nodes, fleet.usd_per_hour(PRICE) + HEAD - over, PRICE, HEAD)
    change = exchange(fleet, target)
    after = target if limit.allows(change) else first_move(change, limit, bounds, cost.__getitem__)
    assert after is None or not after.beyond(fleet)


def hourly_limit(training, target: Fleet) -> float:
    """Dollars per hour of the larger of the present fleet and a target, head included."""
    return max(training.fleet.usd_per_hour(training.prices), target.usd_per_hour(training.prices)) + 1e-6


def test_a_move_of_both_fleets_above_the_hourly_limit_is_split(training):
    room = 2 * training.prices["c5.large"]
    limits = Limits(6, 6, max_usd_per_hour=hourly_limit(training, Fleet({"c5.large": 6})) + room)
    whole = training.decide(Limits(6, 6), DecideSettings(probe_share=0.0))
    decision = training.decide(limits, DecideSettings(probe_share=0.0))
    assert whole.verdict is Verdict.MOVE and not isinstance(whole.reason, FirstWithinHourlyLimit)
    reason = decision.reason
    assert decision.verdict is Verdict.MOVE and isinstance(reason, FirstWithinHourlyLimit)
    assert reason.usd_per_hour > limits.max_usd_per_hour
    assert reason.target == decision.target and decision.target.beyond(training.fleet) == Fleet({"c5.large": 2})


def test_a_move_that_cannot_be_split_within_the_hourly_limit_is_refused(training):
    limits = Limits(6, 6, max_usd_per_hour=hourly_limit(training, Fleet({"c5.large": 6})))
    decision = training.decide(limits, DecideSettings(probe_share=0.0))
    assert decision.verdict is Verdict.REFUSE and isinstance(decision.reason, HourlyLimitForbidsMove)
    assert decision.target == training.fleet and isinstance(decision.reason.whole, CheaperPerToken)


def test_a_fleet_above_the_hourly_limit_gets_smaller_first(training):
    limits = Limits(1, 6, max_usd_per_hour=hourly_limit(training, Fleet({})) * 0.9)
    decision = training.decide(limits, DecideSettings(probe_share=0.0))
    assert decision.verdict is Verdict.MOVE and not decision.target.beyond(training.fleet)
    whole = decision.reason.whole if isinstance(decision.reason, FirstWithinHourlyLimit) else decision.reason
    assert isinstance(whole, BreaksLimit)


PRICES = {"a": 1.0, "b": 2.0, "c": 4.0}
WIDE = Bounds(dict.fromkeys(COST, 20), 1, 20)


def hourly(most: float) -> Surge:
    """Any number of nodes may be added, as far as this many dollars an hour allow, the head's 0.5 included."""
    return Surge(None, max_usd_per_hour=most, usd_per_hour=PRICES, head_usd_per_hour=0.5)


@pytest.mark.parametrize(
    ("most", "moves"),
    [(12.5, 1), (12.4, 2), (8.5, 2), (7.5, 3), (6.5, 4), (5.5, 8)],
    ids=["both at once", "a little less", "half", "a third", "a fourth", "one node each"],
)
def test_as_many_moves_are_needed_as_the_hourly_limit_asks_for(most: float, moves: int) -> None:
    change = exchange(Fleet({"c": 1}), Fleet({"a": 8}))
    assert moves_needed(change, hourly(most), WIDE) == moves


def test_where_no_node_can_be_paid_beside_the_present_ones_they_leave_first_if_they_may() -> None:
    change = exchange(Fleet({"c": 2}), Fleet({"a": 4}))
    assert moves_needed(change, hourly(8.5), WIDE) == 2
    assert moves_needed(change, hourly(8.5), Bounds(dict.fromkeys(COST, 20), 2, 20)) == 1, "there is no way"


def test_as_few_nodes_leave_as_make_room_for_all_that_are_to_come_the_most_expensive_first() -> None:
    change = exchange(Fleet({"b": 3, "c": 3}), Fleet({"a": 4}))
    assert first_move(change, hourly(18.5), WIDE, COST.__getitem__) == Fleet({"b": 3, "c": 2})
    assert first_move(change, hourly(14.5), WIDE, COST.__getitem__) == Fleet({"b": 3, "c": 1})
    assert first_move(change, hourly(8.5), WIDE, COST.__getitem__) == Fleet({"b": 2})


def test_a_flavor_without_a_price_costs_nothing_that_is_known() -> None:
    assert hourly(5.0).price("unknown") == 0.0
    assert hourly(5.0).usd_per_hour_of(Fleet({"unknown": 3, "b": 2})) == 4.0


def test_nodes_that_cost_nothing_make_no_room_and_stay_while_others_can_leave() -> None:
    change = exchange(Fleet({"unknown": 1, "c": 3}), Fleet({"a": 4}))
    cost = {**COST, "unknown": 9.0}
    assert first_move(change, hourly(12.5), WIDE, cost.__getitem__) == Fleet({"unknown": 1, "c": 2})


def test_where_only_nodes_leave_that_cost_nothing_all_leave_that_may() -> None:
    change = exchange(Fleet({"unknown": 3}), Fleet({"a": 4}))
    assert first_move(change, hourly(1.0), WIDE, lambda flavor: 1.0) == Fleet({"unknown": 1})


def test_for_a_limit_of_nothing_all_nodes_leave_that_may() -> None:
    nothing = Surge(None, max_usd_per_hour=0.0, usd_per_hour={"a": 0.1, "b": 0.05})
    assert first_move(exchange(Fleet({"a": 9}), Fleet({"b": 3})), nothing, WIDE, lambda flavor: 1.0) == Fleet({"a": 1})


def test_rounding_is_no_reason_to_refuse_a_move() -> None:
    change, just = exchange(Fleet({}), Fleet({"a": 1})), 1.0 * (1 + SLACK)
    assert Surge(None, 1.0, {"a": just}).has_money(change)
    assert not Surge(None, 1.0, {"a": just * (1 + SLACK)}).has_money(change)
