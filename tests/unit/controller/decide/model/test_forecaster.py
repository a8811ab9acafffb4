"""Forecasts of time and money, worked out by hand: what a fleet takes, what a switch adds, and what is to spare.

A node of `a` makes 100 tokens a second for $1 an hour, a node of `b` 200 for $4. A step has 1,000 tokens, and nothing
waits for the network. The head costs $2 an hour. So a step takes 5 s on two `a`, and 2.5 s on two `b`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast, Overrun
from controller.decide.model.forecaster import (
    LEAST_MARGIN,
    Forecaster,
    paid_usd_per_hour,
    while_credits_last,
    without_credits,
)
from controller.decide.model.situation import Situation
from controller.decide.model.traffic import Traffic
from controller.decide.samples.credits import Burst
from controller.decide.settings import DecideSettings, SwitchingAssumptions
from controller.domain import Fleet, History, Limits, Progress
from controller.domain.objective import Objective
from controller.domain.reasons.limits import BreaksLimit, TooExpensiveForBudget, TooManyNodes, TooSlowForDeadline

USD_PER_HOUR = {"a": 1.0, "b": 4.0}
HEAD = 2.0
TIMES = SwitchingAssumptions(boot_s=40.0, configure_s=60.0, pause_s=10.0, drain_s=36.0)
COOLDOWN_S = 200.0
NOW, STEPS = 1000.0, 1000
TWO_A, TWO_B, ONE_A, THREE_A = Fleet({"a": 2}), Fleet({"b": 2}), Fleet({"a": 1}), Fleet({"a": 3})


def forecaster(
    current: Fleet = TWO_A,
    limits: Limits | None = None,
    spent_usd: float = 0.0,
    steps: int = STEPS,
    **settings: Any,
) -> Forecaster:
    """A thousand steps remain, unless told."""
    chosen = DecideSettings(head_usd_per_hour=HEAD, switching=TIMES, cooldown_s=COOLDOWN_S, **settings)
    situation = Situation(
        now=NOW,
        current=current,
        observations=(),
        usd_per_hour=USD_PER_HOUR,
        price_faults={},
        limits=limits or Limits(),
        progress=Progress(9000, 9000 + steps, 9_000_000, 0.0, NOW),
        history=History(spent_usd=spent_usd),
        settings=chosen,
        flavors=("a", "b"),
    )
    model = FleetModel({"a": 100.0, "b": 200.0}, USD_PER_HOUR, 1000.0, lambda size: 0.0, HEAD)
    return Forecaster.of(situation, model, situation.bounds)


def measured(one: Forecaster, step_s: float) -> Forecaster:
    """The same, where steps of the present fleet take as long as this."""
    one.situation.__dict__["step_time_s"] = step_s
    return one


def test_what_is_left_of_deadline_and_budget_is_worked_out() -> None:
    one = forecaster(limits=Limits(deadline_at=NOW + 500.0, budget_usd=3.0), spent_usd=1.0)
    assert (one.remaining_steps, one.time_left_s, one.money_left_usd) == (STEPS, 500.0, 2.0)
    assert one.has_deadline_or_budget
    assert (forecaster().time_left_s, forecaster().money_left_usd) == (None, None)
    assert not forecaster().has_deadline_or_budget


def test_where_no_step_remains_none_is_forecast() -> None:
    one = forecaster(steps=0)
    assert (one.remaining_steps, one.stay) == (0, Forecast(TWO_A, 0.0, 0.0, 0.0))


def test_a_step_takes_and_costs_what_speeds_and_prices_say() -> None:
    one = forecaster()
    assert (one.step_time_s(TWO_A), one.step_time_s(TWO_B)) == (5.0, 2.5)
    assert one.usd_per_step(TWO_A) == pytest.approx(4.0 / 3600 * 5.0)
    assert one.usd_per_step(TWO_B) == pytest.approx(10.0 / 3600 * 2.5)


def test_staying_costs_no_switch() -> None:
    assert forecaster().stay == Forecast(TWO_A, 5000.0, pytest.approx(4.0 * 5000 / 3600), 0.0)


def test_a_move_trains_on_while_the_new_nodes_boot_and_stands_still_twice() -> None:
    """100 s on two `a` are 20 steps; 980 remain for two `b`."""
    one = forecaster()
    switch_usd = one.switching_usd(TWO_A, TWO_B)
    assert switch_usd == pytest.approx((8 * 100 + 2 * 36 + (10 + HEAD) * 20) / 3600)
    found = one.forecast(TWO_B)
    assert found.remaining_s == pytest.approx(100 + 2 * 10 + 980 * 2.5)
    assert found.remaining_usd == pytest.approx((4.0 * 100 + 10.0 * 980 * 2.5) / 3600 + switch_usd)
    assert (found.target, found.switching_usd, found.bad_nodes) == (TWO_B, switch_usd, ())


def test_a_fleet_that_only_shrinks_stands_still_once_and_waits_for_nothing() -> None:
    found = forecaster().forecast(ONE_A)
    assert found.remaining_s == pytest.approx(10 + 1000 * 10.0)
    assert found.remaining_usd == pytest.approx(3.0 * 10_000 / 3600 + found.switching_usd)


def test_a_fleet_that_only_grows_stands_still_once() -> None:
    found = forecaster().forecast(THREE_A)
    assert found.remaining_s == pytest.approx(100 + 10 + 980 * 10 / 3)


def test_a_move_in_several_parts_waits_for_the_cool_down_between_them() -> None:
    """With one node above the fleet's size, two `a` become two `b` one by one."""
    found = forecaster(limits=Limits(max_surge=1)).forecast(TWO_B)
    overlap_s = 2 * 100 + COOLDOWN_S
    assert found.remaining_s == pytest.approx(overlap_s + 4 * 10 + (1000 - overlap_s / 5) * 2.5)


def test_work_that_ends_before_the_new_nodes_work_is_done_by_the_present_fleet() -> None:
    one = forecaster()
    short = Forecaster(one.situation, one.model, one.bounds, 10)
    found = short.forecast(TWO_B)
    assert found.remaining_s == pytest.approx(50 + 20)
    assert found.remaining_usd == pytest.approx(4.0 * 50 / 3600 + found.switching_usd)


def test_a_present_fleet_of_unknown_speed_does_nothing_until_the_new_one_works() -> None:
    found = forecaster(Fleet({"new": 1})).forecast(TWO_B)
    assert found.remaining_s == pytest.approx(100 + 20 + 2500)
    assert found.remaining_usd == pytest.approx(10.0 * 2500 / 3600 + found.switching_usd)


def test_bad_nodes_are_replaced_by_growing_first_and_shrinking_after_the_cool_down() -> None:
    one = forecaster()
    found = one.replacement(THREE_A, ("i-1",))
    both_usd = one.switching_usd(TWO_A, THREE_A) + one.switching_usd(THREE_A, TWO_A)
    spare_usd = 1.0 * COOLDOWN_S / 3600
    assert found.switching_usd == pytest.approx(both_usd + spare_usd)
    assert found.remaining_s == pytest.approx(300 + 20 + (1000 - 60) * 5)
    assert found.remaining_usd == pytest.approx(4.0 * (300 + 940 * 5) / 3600 + found.switching_usd)
    assert (found.target, found.bad_nodes) == (THREE_A, ("i-1",))


def with_bad_node(one: Forecaster) -> Forecaster:
    """The same, where one of the `a` that run works at half the speed: a step takes 1,000 / 150 s on two `a`."""
    one.situation.__dict__["bad_nodes"] = {"a": {"i-1": 0.5}}
    return one


def test_until_bad_nodes_are_replaced_the_steps_take_as_long_as_with_them() -> None:
    found = with_bad_node(forecaster()).replacement(THREE_A, ("i-1",))
    assert found.remaining_s == pytest.approx(300 + 20 + (1000 - 300 * 150 / 1000) * 5)
    assert found.remaining_usd == pytest.approx(4.0 * (300 + 955 * 5) / 3600 + found.switching_usd)


def test_bad_nodes_that_are_not_replaced_hold_up_the_fleet_after_it_too() -> None:
    """Sound nodes make 300 tokens a second. The bad `b` leaves 200, and the bad `a` 150 until it is replaced."""
    one = forecaster(Fleet({"a": 1, "b": 1}))
    one.situation.__dict__["bad_nodes"] = {"a": {"i-1": 0.5}, "b": {"i-2": 0.5}}
    found = one.replacement(Fleet({"a": 2, "b": 1}), ("i-1",))
    assert found.remaining_s == pytest.approx(300 + 20 + (1000 - 300 * 150 / 1000) * 1000 / 200)


def test_a_bad_node_slows_down_and_makes_expensive_what_keeps_it() -> None:
    one = with_bad_node(forecaster())
    assert (one.step_time_s(TWO_A), one.step_time_s(ONE_A)) == (pytest.approx(1000 / 150), 10.0), "it ends first"
    assert one.usd_per_step(TWO_A) == pytest.approx(4.0 / 3600 * 1000 / 150)
    assert one.estimate(TWO_A).step_time_s == pytest.approx(1000 / 150)
    assert one.estimate(Fleet({"a": 2, "new": 1})).step_time_s is None


@pytest.mark.parametrize(("step_s", "error"), [(5.0, 0.0), (6.5, 0.3), (4.0, 0.0)])
def test_what_a_measured_step_takes_beyond_the_model_counts_as_a_share_on_every_fleet(
    step_s: float, error: float
) -> None:
    """A fast fleet is not taken for slow because the steps of a slow one take seconds longer than they should."""
    one = measured(forecaster(), step_s)
    assert one.model_error == pytest.approx(error)
    found = one.as_measured(Forecast(TWO_B, 100.0, 7.0, 3.0))
    extra_s = 100.0 * error
    assert found == Forecast(TWO_B, pytest.approx(100.0 + extra_s), pytest.approx(7.0 + 10.0 * extra_s / 3600), 3.0)


def test_without_a_measurement_the_model_has_no_error() -> None:
    assert forecaster().model_error == 0.0
    assert measured(forecaster(Fleet({"new": 1})), 9.0).model_error == 0.0


def test_a_forecast_for_a_fleet_without_a_price_stays_as_it_is_while_the_model_has_no_error() -> None:
    unpriced = Forecast(Fleet({"new": 1}), 100.0, 7.0, 3.0)
    assert forecaster().as_measured(unpriced) == unpriced


@pytest.mark.parametrize(
    ("limits", "spare"),
    [
        (Limits(), math.inf),
        (Limits(deadline_at=NOW + 125.0), 0.25),
        (Limits(deadline_at=NOW + 75.0), -0.25),
        (Limits(budget_usd=12.0), 0.5),
        (Limits(deadline_at=NOW + 125.0, budget_usd=12.0), 0.25),
        (Limits(deadline_at=NOW + 175.0, budget_usd=12.0), 0.5),
    ],
)
def test_the_share_to_spare_is_that_of_the_tighter_limit(limits: Limits, spare: float) -> None:
    one, needs = forecaster(limits=limits), Forecast(TWO_A, 100.0, 8.0, 0.0)
    assert one.to_spare(needs) == spare
    assert one.keeps(needs, spare) and (spare == math.inf or not one.keeps(needs, spare + 1e-9))


def test_work_that_costs_next_to_nothing_is_kept_by_any_budget() -> None:
    assert forecaster(limits=Limits(budget_usd=0.5)).to_spare(Forecast(TWO_A, 1.0, 0.25, 0.0)) == 1.0


@pytest.mark.parametrize(
    ("limits", "margin", "overrun"),
    [
        (Limits(), 0.25, Overrun()),
        (Limits(deadline_at=NOW + 100.0), 0.25, Overrun(20.0, 0.0)),
        (Limits(deadline_at=NOW + 125.0), 0.25, Overrun(0.0, 0.0)),
        (Limits(budget_usd=5.0), 0.25, Overrun(0.0, 4.0)),
        (Limits(budget_usd=10.0), 0.25, Overrun(0.0, 0.0)),
        (Limits(budget_usd=20.0), 0.25, Overrun(0.0, 0.0)),
        (Limits(deadline_at=NOW + 50.0, budget_usd=5.0), 0.25, Overrun(60.0, 4.0)),
    ],
)
def test_what_a_fleet_lacks_is_told_in_seconds_and_dollars(limits: Limits, margin: float, overrun: Overrun) -> None:
    assert forecaster(limits=limits).overrun(Forecast(TWO_A, 100.0, 8.0, 0.0), margin) == overrun


def test_the_objective_says_what_a_forecast_is_judged_by() -> None:
    one = Forecast(TWO_A, 100.0, 8.0, 0.0)
    assert forecaster().worth(one) == 8.0
    assert forecaster(objective=Objective.TIME).worth(one) == 100.0


def test_a_fleet_that_keeps_everything_may_stay() -> None:
    assert forecaster().forced is None
    assert forecaster(limits=Limits(deadline_at=NOW + 5000 * (1 + LEAST_MARGIN) + 1e-6)).forced is None


def test_a_fleet_that_is_too_slow_too_expensive_or_not_allowed_must_go() -> None:
    late = Limits(deadline_at=NOW + 5000 * (1 + LEAST_MARGIN) - 1)
    assert forecaster(limits=late).forced == TooSlowForDeadline(TWO_A, 5000.0, pytest.approx(5024.0))
    usd = 4.0 * 5000 / 3600
    assert forecaster(limits=Limits(budget_usd=usd)).forced == TooExpensiveForBudget(TWO_A, pytest.approx(usd), usd)
    assert forecaster(limits=Limits(max_nodes=1)).forced == BreaksLimit(TWO_A, TooManyNodes(2, 1))


def test_a_search_gets_what_deadline_and_budget_leave_for_a_step() -> None:
    """100 s on the present fleet are 20 steps and $0.11; two pauses take 20 s."""
    limits = Limits(deadline_at=NOW + 1250.0, budget_usd=2.5)
    found = forecaster(limits=limits).bounds_within(0.25)
    assert found.max_step_s == pytest.approx((1000 - 100 - 20) / 980)
    assert found.max_usd_per_step == pytest.approx((2.0 - 4.0 * 100 / 3600) / 980)
    shrinking = forecaster(limits=limits).bounds_within(0.25, grows=False)
    assert (shrinking.max_step_s, shrinking.max_usd_per_step) == (pytest.approx(0.98), pytest.approx(0.002))
    assert measured(forecaster(limits=limits), 5.25).bounds_within(0.25).max_step_s == pytest.approx(880 / 980 / 1.05)


def test_a_search_gets_no_bounds_without_deadline_and_budget_and_none_below_zero() -> None:
    free = forecaster().bounds_within(0.25)
    assert (free.max_step_s, free.max_usd_per_step) == (None, None)
    hopeless = forecaster(limits=Limits(deadline_at=NOW + 10.0, budget_usd=0.01)).bounds_within(0.25)
    assert (hopeless.max_step_s, hopeless.max_usd_per_step) == (0.0, 0.0)


def test_a_search_from_a_fleet_of_unknown_speed_counts_no_work_of_it() -> None:
    found = forecaster(Fleet({"new": 1}), Limits(deadline_at=NOW + 1250.0, budget_usd=2.5)).bounds_within(0.25)
    assert (found.max_step_s, found.max_usd_per_step) == (pytest.approx(0.88), pytest.approx(0.002))


@pytest.mark.parametrize("steps", [1, 20, 21])
def test_a_search_gets_the_bounds_of_a_single_step_where_no_more_remain(steps: int) -> None:
    """The first 20 steps are made while the new nodes boot."""
    limits = Limits(deadline_at=NOW + 1250.0, budget_usd=2.5)
    found = forecaster(limits=limits, steps=steps).bounds_within(0.25)
    assert found.max_step_s == pytest.approx(1000 - 100 - 20)
    assert found.max_usd_per_step == pytest.approx(2.0 - 4.0 * 100 / 3600)


def test_an_estimate_of_a_fleet_that_is_not_known_has_no_numbers() -> None:
    known, unknown = forecaster().estimate(TWO_B), forecaster().estimate(Fleet({"new": 1}))
    assert known.step_time_s == 2.5
    assert unknown.step_time_s is None


def test_a_search_counts_cpu_credits_on_average_and_a_second_one_starts_from_the_speeds_without_them() -> None:
    """A new `a` makes 400 tokens a second for 100 s, and 100 after that."""
    one = forecaster()
    one.situation.__dict__["bursts"] = {"a": Burst(400.0, 100.0)}
    found = while_credits_last(one, 300.0)
    assert found.model.tokens_per_s == {"a": pytest.approx(200.0), "b": 200.0}
    assert without_credits(found) == one.model
    assert while_credits_last(found, 150.0).model.tokens_per_s == {"a": pytest.approx(300.0), "b": 200.0}


def test_traffic_between_zones_is_paid_by_the_step_and_counts_in_the_budget() -> None:
    """Two nodes in two zones pay $0.002 a step beside the $4 an hour of their 5 s, and 20 steps while others boot."""
    plain = forecaster(limits=Limits(budget_usd=10.0))
    one = replace(plain, model=replace(plain.model, traffic=Traffic(0.001, 2)))
    a_step = 4.0 / 3600 * 5.0 + 0.002
    assert one.usd_per_step(TWO_A) == pytest.approx(a_step)
    assert paid_usd_per_hour(one, TWO_A) == pytest.approx(a_step / 5.0 * 3600)
    assert one.stay.remaining_usd == pytest.approx(STEPS * a_step)
    assert one.estimate(TWO_A).remaining_usd == pytest.approx(STEPS * a_step)
    assert one.to_spare(one.stay) == pytest.approx(10.0 / (STEPS * a_step) - 1)
    move, free = one.forecast(ONE_A), plain.forecast(ONE_A)
    assert move.remaining_usd == pytest.approx(free.remaining_usd), "one node pays for none"
    other, cheaper = one.forecast(TWO_B), plain.forecast(TWO_B)
    assert other.remaining_usd - cheaper.remaining_usd == pytest.approx(STEPS * 0.002)
    room = one.bounds_within(0.0).max_usd_per_step
    assert room == pytest.approx((10.0 - 20 * a_step) / 980)
    spare = one.replacement(THREE_A, ("i-1",)).remaining_usd - plain.replacement(THREE_A, ("i-1",)).remaining_usd
    assert spare == pytest.approx(STEPS * 0.002)
