"""A training stops early enough for everything to be given back within its budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide import DecideSettings
from controller.decide.limits.bounds import SLACK
from controller.decide.limits.budget import spent_out
from controller.domain import Limits
from controller.domain.reasons.ending import BudgetReached
from controller.domain.reasons.limits import BudgetOutOfReach, Constrained


def test_without_a_budget_nothing_is_ever_stopped():
    assert spent_out(spent_usd=1e9, usd_per_hour=1e6, budget_usd=None, ending_s=1e6) is None


def test_it_stops_when_giving_everything_back_needs_the_rest():
    rate, ending_s = 3.6, 100.0
    assert spent_out(spent_usd=4.89, usd_per_hour=rate, budget_usd=5.0, ending_s=ending_s) is None
    assert spent_out(spent_usd=4.90, usd_per_hour=rate, budget_usd=5.0, ending_s=ending_s) == BudgetReached(
        5.0, 4.90, pytest.approx(0.1)
    )
    assert spent_out(spent_usd=4.90, usd_per_hour=rate / 2, budget_usd=5.0, ending_s=ending_s) is None


def test_a_budget_that_is_spent_stops_also_where_nothing_runs():
    assert spent_out(spent_usd=5.0, usd_per_hour=0.0, budget_usd=5.0, ending_s=60.0) is not None
    assert spent_out(spent_usd=5.0 * (1 - SLACK), usd_per_hour=0.0, budget_usd=5.0, ending_s=60.0) is not None


@settings(deadline=None)
@given(
    rates=st.lists(st.floats(0, 50), min_size=1, max_size=40),
    budget_usd=st.floats(0.001, 10),
    interval_s=st.floats(1, 120),
    give_back_s=st.floats(0, 60),
    boot_s=st.floats(60, 600),
)
def test_whatever_runs_the_run_costs_no_more_than_its_budget_and_one_boot(
    rates, budget_usd, interval_s, give_back_s, boot_s
):
    """The rate of each look holds until the next one; the fleet may have grown meanwhile, as far as a boot goes."""
    spent_usd, rate, at = 0.0, rates[0], 0
    while (
        spent_out(spent_usd=spent_usd, usd_per_hour=rate, budget_usd=budget_usd, ending_s=interval_s + give_back_s)
        is None
        and at < 10_000
    ):
        spent_usd += rate * interval_s / 3600
        at += 1
        before, rate = rate, rates[at % len(rates)]
        growth_usd = max(0.0, rate - before) * boot_s / 3600
        if spent_usd > budget_usd:
            assert spent_usd <= budget_usd + growth_usd
    total_usd = spent_usd + rate * give_back_s / 3600
    most_usd = max(rates) * max(boot_s, interval_s + give_back_s) / 3600
    assert total_usd <= budget_usd + most_usd * (1 + 1e-9)


@settings(deadline=None)
@given(
    rate=st.floats(0.01, 50), budget_usd=st.floats(0.5, 10), interval_s=st.floats(1, 60), give_back_s=st.floats(0, 60)
)
def test_a_fleet_that_does_not_grow_keeps_its_budget_to_the_last_cent(rate, budget_usd, interval_s, give_back_s):
    ending_s, spent_usd = interval_s + give_back_s, 0.0
    if rate * ending_s / 3600 > budget_usd:
        return
    while spent_out(spent_usd=spent_usd, usd_per_hour=rate, budget_usd=budget_usd, ending_s=ending_s) is None:
        spent_usd += rate * interval_s / 3600
    total_usd = spent_usd + rate * give_back_s / 3600
    assert total_usd <= budget_usd * (1 + 1e-6)
    assert total_usd >= budget_usd - rate * interval_s / 3600 * (1 + 1e-6) - 1e-9, "and it is not stopped too early"


def test_decisions_leave_of_the_budget_what_giving_everything_back_costs(training):
    def left_usd(ending_s: float) -> float:
        limits = Limits(1, 6, budget_usd=0.5)
        reason = training.decide(limits, DecideSettings(probe_share=0.0, ending_s=ending_s)).reason
        assert isinstance(reason, Constrained) and isinstance(reason.shortfall, BudgetOutOfReach)
        return reason.shortfall.left_usd

    reserve_usd = training.fleet.usd_per_hour(training.prices) * 600 / 3600
    assert left_usd(0.0) == pytest.approx(0.5)
    assert left_usd(600.0) == pytest.approx(0.5 - reserve_usd)
