"""The rules of Uniform Progress and of greedy, as the paper states them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.deadlines.paper import greedy, uniform_progress
from controller.decide.deadlines.seen import Seen
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Policy, Situation, Spot

JOB = Job(
    work_s=1000.0, time_s=2000.0, change_over_s=50.0, step_s=10.0, on_demand_usd_per_hour=3.0, spot_usd_per_hour=(1,)
)


def at(passed_s: float, done_s: float, running: Choice, has_spot: bool) -> Situation:
    return Situation(JOB, 1000 - done_s, 2000 - passed_s, running, 0.0, (has_spot,), Seen())


def test_idle_and_behind_it_runs_on_demand() -> None:
    assert uniform_progress(at(400, 199, WAIT, False)) == ON_DEMAND
    assert uniform_progress(at(400, 200, WAIT, False)) == WAIT


def test_it_takes_spot_whenever_there_is_some() -> None:
    assert uniform_progress(at(400, 100, WAIT, True)) == Spot(0)
    assert uniform_progress(at(400, 300, WAIT, True)) == Spot(0)


def test_on_demand_stays_until_it_leads_by_two_change_overs() -> None:
    assert uniform_progress(at(400, 249, ON_DEMAND, True)) == ON_DEMAND
    assert uniform_progress(at(400, 250, ON_DEMAND, True)) == Spot(0)
    assert uniform_progress(at(400, 250, ON_DEMAND, False)) == WAIT


def test_idle_with_less_time_than_work_and_two_change_overs_it_runs_on_demand() -> None:
    assert uniform_progress(at(1899, 999, WAIT, True)) == Spot(0)
    assert uniform_progress(at(1900, 999, WAIT, True)) == ON_DEMAND


def test_greedy_waits_as_long_as_on_demand_keeps_the_deadline() -> None:
    assert greedy(at(900, 0, WAIT, False)) == WAIT
    assert greedy(at(945, 0, WAIT, False)) == ON_DEMAND
    assert greedy(at(945, 0, ON_DEMAND, True)) == ON_DEMAND


def with_pools(running: Choice, prices: tuple[float, ...], available: tuple[bool, ...]) -> Situation:
    return Situation(replace(JOB, spot_usd_per_hour=prices), 900.0, 1900.0, running, 0.0, available, Seen())


@pytest.mark.parametrize("policy", [greedy, uniform_progress])
@pytest.mark.parametrize(
    ("running", "prices", "available", "pool"),
    [
        (WAIT, (2.0, 1.0), (True, True), 1),
        (WAIT, (1.0, 1.0), (True, True), 0),
        (WAIT, (1.0, 2.0), (False, True), 1),
        (Spot(0), (2.0, 1.0), (True, True), 0),
        (Spot(0), (2.0, 3.0), (False, True), 1),
    ],
)
def test_they_take_the_cheapest_pool_that_has_capacity_and_stay_there(
    policy: Policy, running: Choice, prices: tuple[float, ...], available: tuple[bool, ...], pool: int
) -> None:
    assert policy(with_pools(running, prices, available)) == Spot(pool)
