"""Moves to flavors that were never measured: when they are worth their risk, and what they are expected to save.

As in `test_exploration.py`, a node of `a` makes 100 tokens a second for $1 an hour. A hint says how fast `n` may be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

import pytest

from controller.decide.exploration.leaps import (
    LEAST_CHANCE,
    LEAST_SAVING,
    LEAVES_ROUNDS,
    MOST_JUDGED,
    POINTS,
    QUANTILES,
    Leap,
    Leaps,
    is_better_than,
)
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


def leaps_of(one: Exploration, log_se: float | None = None) -> Leaps:
    """Returns the leaps on what is expected, with another standard error of it if one is given."""
    guesses = {f: g if log_se is None else replace(g, log_se=log_se) for f, g in one.guesses.items()}
    return Leaps(one.outlook, one.base, guesses)


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


@pytest.mark.parametrize(
    ("tokens_per_s", "objective"), [(1.0, Objective.COST), (40.0, Objective.COST), (1.0, Objective.TIME)]
)
def test_a_flavor_is_left_after_its_trial_for_the_fleet_that_was_due(tokens_per_s: float, objective: Objective) -> None:
    """Two `a` work until the flavor has booted. It makes 20 steps, and works on until two `a` have booted again."""
    one = exploring({"n": (1.0, 60.0)}, steps=20_000, objective=objective)
    there = Fleet({"n": 2})
    outcome = leaps_of(one)._outcome("n", tokens_per_s, there)
    base_step_s, step_s = 1000 / 200 + 0.25, 1000 / (2 * tokens_per_s) + 0.25
    trial_s = max(300.0, 20 * step_s) + TIMES.grow_s
    rest_s = (20_000 - TIMES.grow_s / base_step_s - trial_s / step_s) * base_step_s
    switches_usd = one.forecaster.switching_usd(TWO_A, there) + one.forecaster.switching_usd(there, TWO_A)
    assert outcome.target == there
    assert outcome.remaining_s == pytest.approx(TIMES.grow_s + trial_s + rest_s + 4 * TIMES.pause_s)
    work_usd = 2.0 * (TIMES.grow_s + trial_s + rest_s) / 3600
    assert outcome.remaining_usd == pytest.approx(work_usd + switches_usd)
    assert outcome.switching_usd == pytest.approx(switches_usd)


@pytest.mark.parametrize(("steps", "is_left"), [(40, True), (39, False)])
def test_a_flavor_is_left_even_for_a_last_step_and_not_where_its_trial_is_all_that_remains(
    steps: int, is_left: bool
) -> None:
    """Two `a` make 19.05 steps before, and the trial is a little more than 20 steps."""
    one = exploring({"n": (1.0, 60.0)}, steps=steps)
    there = replace(one.forecaster, model=one.forecaster.model.with_speeds({"n": 0.01}))
    stays = there.forecast(Fleet({"n": 2}))
    outcome = leaps_of(one)._outcome("n", 0.01, Fleet({"n": 2}))
    assert (outcome.remaining_s < stays.remaining_s) is is_left
    assert (outcome == stays) is not is_left


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


def test_the_switch_of_a_leap_is_the_move_there_even_where_a_slow_flavor_would_be_left_again() -> None:
    one = exploring({"n": (1.0, 125.0)}, steps=2000, limits=Limits(2, 2))
    found = leap_of(one)
    slowest = leaps_of(one)._outcome("n", 125.0 * math.exp(QUANTILES[0] * HINT_LOG_SE), found.target)
    assert found.switching_usd == pytest.approx(one.forecaster.switching_usd(TWO_A, found.target))
    assert found.switching_usd < slowest.switching_usd


@pytest.mark.parametrize(("hint", "is_worth_it"), [(102.0, False), (102.5, True)])
def test_a_sure_leap_must_save_a_fiftieth_of_the_rest_of_the_work(hint: float, is_worth_it: bool) -> None:
    one = exploring({"n": (1.0, hint)}, limits=Limits(2, 2))
    (found,) = leaps_of(one, log_se=0.001)._judged()
    assert found.chance_worse == 0.0
    assert (found.saving_usd > LEAST_SAVING * one.base.remaining_usd) is is_worth_it
    assert (leaps_of(one, log_se=0.001).best() is not None) is is_worth_it


def test_a_leap_must_save_what_it_may_cost_on_top() -> None:
    """Over its eight speeds `n` saves enough on average. In three of eight cases it costs more."""
    one = exploring({"n": (1.0, 114.0)}, steps=SHORT, limits=Limits(2, 2))
    (found,) = leaps_of(one)._judged()
    margin_usd, at_risk_usd = LEAST_SAVING * one.base.remaining_usd, found.chance_worse * found.worse_usd
    assert margin_usd < found.saving_usd < margin_usd + at_risk_usd
    assert found.chance_worse == 3 / 8
    assert one.leap() is None


def test_of_several_leaps_the_one_that_saves_most_is_made() -> None:
    assert leap_of(exploring({"m": (1.0, 400.0), "n": (1.0, 300.0)}, steps=SHORT)).flavor == "m"
    assert leap_of(exploring({"m": (1.0, 300.0), "n": (1.0, 400.0)}, steps=SHORT)).flavor == "n"


def test_the_flavors_are_judged_that_are_expected_to_be_the_cheapest_per_token() -> None:
    """There are more of them than are judged. The best one is the last by name, and by dollars for its speed."""
    new = {**dict.fromkeys("klmnop", (1.0, 90.0)), "q": (1.0, 400.0)}
    assert len(new) > MOST_JUDGED
    assert leap_of(exploring(new, steps=SHORT)).flavor == "q"


def test_in_need_the_chance_to_keep_the_deadline_comes_before_the_dollars() -> None:
    """`m` is cheaper than `n`. With it the deadline is kept in most cases, and with `n` in all."""
    new, steps = {"m": (3.0, 330.0), "n": (9.0, 600.0)}, 2000
    stays_s = exploring(new, steps=steps).forecaster.stay.remaining_s
    one = exploring(new, steps=steps, limits=Limits(1, 2, deadline_at=1000.0 + 0.4 * stays_s))
    judged = list(leaps_of(one)._judged())
    best = {f: max((leap.chance_kept, leap.saving_usd) for leap in judged if leap.flavor == f) for f in "mn"}
    assert LEAST_CHANCE < best["m"][0] < best["n"][0] == 1.0
    assert best["m"][1] > best["n"][1]
    assert leap_of(one).flavor == "n"


def test_in_need_no_more_is_bought_than_keeps_the_deadline_even_if_the_flavor_is_slow() -> None:
    """No known fleet keeps the deadline. Two nodes of `n` would be the fastest, and one keeps it at any speed."""
    new, steps = {"n": (9.0, 1200.0)}, 2000
    stays_s = exploring(new, steps=steps).forecaster.stay.remaining_s
    one = exploring(new, steps=steps, limits=Limits(1, 2, deadline_at=1000.0 + 0.4 * stays_s))
    targets = {leap.target.count("n"): leap for leap in leaps_of(one)._judged()}
    assert set(targets) == {1, 2}
    assert targets[1].chance_kept == targets[2].chance_kept == 1.0
    assert targets[1].saving_usd > targets[2].saving_usd
    assert leap_of(one).target.count("n") == 1


def test_in_need_more_than_the_confidence_that_is_asked_for_is_worth_nothing() -> None:
    """A cheaper leap that keeps the deadline often enough is preferred to a dearer one that always does."""
    leap = Leap("n", TWO_A, -1.0, 0.0, 0.0, 0.875, 0.1)
    stays_s = exploring({"n": (9.0, 600.0)}, steps=2000).forecaster.stay.remaining_s
    asked = {c: Limits(1, 2, deadline_at=1000.0 + 0.4 * stays_s, confidence=c) for c in (0.8, 0.95)}
    chances = {c: leaps_of(exploring({"n": (9.0, 600.0)}, steps=2000, limits=of)) for c, of in asked.items()}
    assert chances[0.8]._chance_that_counts(leap) == 0.8
    assert chances[0.95]._chance_that_counts(leap) == 0.875
    assert leaps_of(exploring({"n": (9.0, 600.0)}, steps=2000))._chance_that_counts(leap) == 0.0


@pytest.mark.parametrize(("at_quantile", "is_made"), [(6, True), (7, False)])
def test_in_need_a_chance_of_a_quarter_to_keep_the_deadline_is_enough(at_quantile: int, is_made: bool) -> None:
    """At this one of the eight speeds of equal chance the deadline would be kept to the second."""
    new, steps = {"n": (9.0, 600.0)}, 2000
    free = exploring(new, steps=steps)
    speed = free.guesses["n"].at(QUANTILES[at_quantile])
    known = replace(free.forecaster, model=free.forecaster.model.with_speeds({"n": speed}))
    needed_s = known.forecast(Fleet({"n": 2})).remaining_s * (1 + LEAST_MARGIN)
    one = exploring(new, steps=steps, limits=Limits(1, 2, deadline_at=1000.0 + needed_s + 1e-6))
    (judged,) = leaps_of(one)._judged()
    assert judged.chance_kept == 1 - at_quantile / POINTS
    assert LEAST_CHANCE == 0.25
    assert (one.leap() is not None) == is_made


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
    assert found.is_needed and found.saving_usd < 0
    assert is_better_than(found, probing_usd=1e6, remaining_usd=1e6)


def test_a_leap_for_the_money_is_not_needed() -> None:
    assert not leap_of(exploring({"n": (1.0, 400.0)}, steps=SHORT)).is_needed


def test_a_leap_of_which_nothing_is_known_is_not_made_though_it_is_needed() -> None:
    leap = Leap("n", TWO_A, -math.inf, 0.0, 0.0, 1.0, 0.1, is_needed=True)
    assert not is_better_than(leap, probing_usd=0.0, remaining_usd=100.0)


def test_for_the_least_time_a_leap_saves_what_the_present_fleet_costs_meanwhile() -> None:
    one = exploring({"n": (9.0, 600.0)}, steps=2000, objective=Objective.TIME)
    found = leap_of(one)
    assert found.target.count("n") == 2
    assert 0 < found.saving_usd < one.forecaster.stay.remaining_usd


@pytest.mark.parametrize(
    ("chance_worse", "leaves_time", "saving_usd", "probing_usd", "is_better"),
    [
        (0.0, True, 1.0, 0.0, True),
        (0.0, True, 0.0, 0.0, False),
        (0.0, True, 50.0, 54.9, True),
        (0.0, True, 50.0, 55.1, False),
        (0.125, True, 50.0, 54.9, True),
        (0.125, True, 120.0, 119.0, True),
        (0.125, True, 120.0, 121.0, False),
        (0.25, True, 50.0, 48.9, True),
        (0.25, True, 50.0, 49.1, False),
        (0.0, False, 50.0, 48.9, True),
        (0.0, False, 50.0, 49.1, False),
        (0.25, False, 1.0, 0.0, True),
    ],
)
def test_a_probe_must_gain_more_than_a_leap_that_is_nearly_sure_and_leaves_time_and_less_than_any_other(
    chance_worse: float, leaves_time: bool, saving_usd: float, probing_usd: float, is_better: bool
) -> None:
    losses_usd = 0.5 if chance_worse else 0.0
    leap = Leap("n", TWO_A, saving_usd, chance_worse, losses_usd, 1.0, 0.1, leaves_time=leaves_time)
    assert is_better_than(leap, probing_usd, remaining_usd=100.0) is is_better


def test_a_leap_leaves_time_where_the_rest_takes_many_times_as_long_as_to_measure_other_flavors() -> None:
    new, settings = {"n": (1.0, 400.0)}, exploring({"n": (1.0, 400.0)}).forecaster.situation.settings
    step_s = exploring(new).forecaster.model.with_speeds({"n": 400.0}).step_time_s(Fleet({"n": 2}))
    round_s = settings.cooldown_s + 2 * TIMES.grow_s + settings.probe_steps * step_s
    steps = LEAVES_ROUNDS * round_s / step_s
    assert not leap_of(exploring(new, steps=int(0.5 * steps))).leaves_time
    assert leap_of(exploring(new, steps=int(1.5 * steps))).leaves_time


def test_the_new_nodes_of_a_leap_are_waited_for() -> None:
    """Whatever the flavor is, the present fleet works until its nodes have booted."""
    one = exploring({"n": (1.0, 400.0)}, steps=SHORT)
    leaps = Leaps(one.outlook, one.base, one.guesses)
    assert leaps._outcome("n", 1e9, Fleet({"n": 2})).remaining_s >= TIMES.grow_s
