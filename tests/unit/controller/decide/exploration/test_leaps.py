"""Moves to flavors that were never measured: when they are worth their risk, and what they are expected to save.

As in `test_exploration.py`, a node of `a` makes 100 tokens a second for $1 an hour. A hint says how fast `n` may be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

import pytest

from controller.decide.exploration.leaps import QUANTILES, Leap, Leaps, is_better_than
from controller.decide.exploration.probes import Exploration
from controller.decide.model.forecaster import LEAST_MARGIN
from controller.decide.model.hardware.prior import HINT_LOG_SE
from controller.domain import Fleet, Limits
from controller.domain.objective import Objective
from tests.unit.controller.decide.exploration.test_exploration import TIMES, TWO_A, exploring

SHORT = 500
"""Steps that take 45 minutes on two `a`."""


def leap_of(one: Exploration) -> Leap:
    found = one.leap()
    assert found is not None
    return found


def test_a_flavor_that_is_expected_to_be_far_cheaper_is_moved_to_at_once() -> None:
    found = leap_of(exploring({"n": (1.0, 400.0)}, steps=SHORT))
    assert found.flavor == "n"
    assert set(found.target.present) == {"n"}
    assert found.saving_usd > 0
    assert found.chance_worse == 0.0 and found.worse_usd == 0.0


def test_what_it_saves_is_the_mean_over_the_speeds_that_it_may_have() -> None:
    one = exploring({"n": (1.0, 400.0)}, steps=SHORT)
    found, stay = leap_of(one), one.forecaster.stay

    def usd(z: float) -> float:
        speeds = {"n": 400.0 * math.exp(z * HINT_LOG_SE)}
        return (
            replace(one.forecaster, model=one.forecaster.model.with_speeds(speeds)).forecast(found.target).remaining_usd
        )

    assert found.saving_usd == pytest.approx(stay.remaining_usd - fmean(usd(z) for z in QUANTILES))


def test_where_the_flavor_is_slow_it_is_left_again() -> None:
    """At its slowest the flavor costs more than going back does, so that the loss has a bound."""
    one = exploring({"n": (1.0, 60.0)}, steps=20_000)
    leaps = Leaps(one.outlook, one.base, one.guesses)
    outcome = leaps._outcome("n", 1.0, Fleet({"n": 2}))
    stay = one.forecaster.stay
    assert stay.remaining_usd < outcome.remaining_usd < 1.2 * stay.remaining_usd
    assert stay.remaining_s < outcome.remaining_s < 1.2 * stay.remaining_s


def test_no_leap_where_the_flavor_is_expected_to_be_worse() -> None:
    assert exploring({"n": (1.0, 80.0)}, steps=SHORT).leap() is None


def test_no_leap_where_nothing_may_be_spent_on_measuring() -> None:
    assert exploring({"n": (1.0, 400.0)}, steps=SHORT, probe_share=0.0).leap() is None


def test_no_leap_that_would_not_pay_for_its_switch() -> None:
    assert exploring({"n": (1.0, 400.0)}, steps=20).leap() is None


def test_a_risky_leap_tells_its_chance_and_cost() -> None:
    found = leap_of(exploring({"n": (1.0, 125.0)}, steps=2000, limits=Limits(2, 2)))
    assert 0 < found.chance_worse < 0.5
    assert found.worse_usd > 0


def test_a_leap_does_not_risk_a_deadline_that_is_kept_without_it() -> None:
    free = exploring({"n": (1.0, 125.0)}, steps=2000, limits=Limits(2, 2))
    stays_s = free.forecaster.stay.remaining_s
    tight, roomy = (
        exploring({"n": (1.0, 125.0)}, steps=2000, limits=Limits(2, 2, deadline_at=1000.0 + factor * stays_s))
        for factor in (1 + 2 * LEAST_MARGIN, 3.0)
    )
    assert tight.leap() is None
    assert roomy.leap() is not None


def test_a_deadline_that_no_known_fleet_keeps_is_a_reason_to_leap() -> None:
    """`n` is expensive. Two nodes of it are three times as fast as what is known."""
    new, steps = {"n": (9.0, 600.0)}, 2000
    assert exploring(new, steps=steps).leap() is None
    late = Limits(1, 2, deadline_at=1000.0 + 0.4 * exploring(new, steps=steps).forecaster.stay.remaining_s)
    found = leap_of(exploring(new, steps=steps, limits=late))
    assert found.target.count("n") and found.chance_kept >= 0.5


def test_for_the_least_time_a_leap_saves_what_the_present_fleet_costs_meanwhile() -> None:
    one = exploring({"n": (9.0, 600.0)}, steps=2000, objective=Objective.TIME)
    found = leap_of(one)
    assert found.target.count("n") == 2
    assert 0 < found.saving_usd < one.forecaster.stay.remaining_usd


@pytest.mark.parametrize(
    ("saving_usd", "probing_usd", "is_better"),
    [(1.0, 0.0, True), (1.0, 0.9, False), (2.1, 1.0, True), (1.0, 2.0, False)],
)
def test_a_leap_must_be_better_than_a_probe_by_a_share_of_what_remains(
    saving_usd: float, probing_usd: float, is_better: bool
) -> None:
    leap = Leap("n", TWO_A, saving_usd, 0.0, 0.0, 1.0, 0.1)
    assert is_better_than(leap, probing_usd, remaining_usd=100.0) is is_better


def test_the_new_nodes_of_a_leap_are_waited_for() -> None:
    """Whatever the flavor is, the present fleet works until its nodes have booted."""
    one = exploring({"n": (1.0, 400.0)}, steps=SHORT)
    leaps = Leaps(one.outlook, one.base, one.guesses)
    assert leaps._outcome("n", 1e9, Fleet({"n": 2})).remaining_s >= TIMES.grow_s
