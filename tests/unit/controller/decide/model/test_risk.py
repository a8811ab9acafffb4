"""With which chance a deadline is kept, and what a confidence asks to have to spare, worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import pytest

from controller.decide.model.communication import Communication
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster
from controller.decide.model.risk import (
    MODEL_LOG_SD,
    NODE_LOG_SD,
    SIZE_LOG_SD,
    SWITCH_SD,
    Spread,
    chance_kept,
    margin,
    spread,
    usual_bounds,
)
from controller.decide.settings import SwitchingAssumptions
from controller.domain import Fleet, Limits
from tests.unit.controller.decide.model.test_forecaster import COOLDOWN_S, NOW, TIMES, TWO_A, TWO_B, forecaster


def with_deadline(left_s: float, confidence: float | None = None, **errors: float) -> Forecaster:
    """A thousand steps remain, which take 5,000 s on two `a`. `errors` are those of the flavors' speeds."""
    one = forecaster(limits=Limits(deadline_at=NOW + left_s, confidence=confidence))
    return replace(one, model=replace(one.model, log_se=errors))


def test_without_deadline_and_budget_nothing_is_to_spare_and_no_chance_is_told() -> None:
    one = forecaster()
    assert margin(one, TWO_A) == 0.0
    assert chance_kept(one, one.stay) is None


def test_the_speed_of_what_runs_spreads_as_it_was_measured() -> None:
    assert spread(with_deadline(6000.0, a=0.02), TWO_A) == pytest.approx(
        Spread(0.02, MODEL_LOG_SD, 0.0, (COOLDOWN_S + 2 * TIMES.grow_s + 20 * 5.0) / 5000)
    )


def test_new_nodes_differ_and_may_come_late() -> None:
    """A step takes 2.5 s on two `b`, so that a thousand take 2,500 s. Two of two nodes are new."""
    found = spread(with_deadline(6000.0, b=0.04), TWO_B, works_meanwhile=False)
    assert found.speeds == pytest.approx(math.sqrt(0.04**2 + NODE_LOG_SD**2 / 2))
    assert found.rest == pytest.approx(math.hypot(MODEL_LOG_SD, SWITCH_SD * TIMES.grow_s / 2500))


@pytest.mark.parametrize(
    ("target", "budget_usd", "lost"),
    [
        (TWO_B, None, 0.5),  # a step there takes 2.5 s instead of 5 s
        (Fleet({"a": 2, "b": 2}), None, 2 / 3),  # 1.67 s
        (Fleet({"a": 3}), None, 1 / 3),
        (Fleet({"b": 1}), None, 0.0),  # as slow as the present fleet
        (TWO_B, 1000.0, 1.0),
    ],
)
def test_while_new_nodes_are_late_the_present_fleet_works(target: Fleet, budget_usd: float | None, lost: float) -> None:
    one = forecaster(limits=Limits(deadline_at=NOW + 6000.0, budget_usd=budget_usd))
    late_s = SWITCH_SD * TIMES.grow_s * lost
    rest_s = one.remaining_steps * one.model.step_time_s(target)
    assert spread(one, target).rest == pytest.approx(math.hypot(MODEL_LOG_SD, late_s / rest_s))


def test_where_nothing_works_meanwhile_each_second_that_new_nodes_are_late_is_lost() -> None:
    one = forecaster(limits=Limits(deadline_at=NOW + 6000.0))
    gone = replace(one, situation=replace(one.situation, current=Fleet({})))
    unknown = replace(one, situation=replace(one.situation, current=Fleet({"new": 1})))
    lost = math.hypot(MODEL_LOG_SD, SWITCH_SD * TIMES.grow_s / 2500)
    assert spread(gone, TWO_B).rest == spread(unknown, TWO_B).rest == pytest.approx(lost)


def brief(step_s: float, steps: int) -> Forecaster:
    """So few steps remain on two `a`, each this long, while a new node needs no time and nothing cools down."""
    one = forecaster(limits=Limits(deadline_at=NOW + 6000.0), steps=steps)
    settings = replace(one.situation.settings, switching=SwitchingAssumptions(0.0, 0.0, 0.0, 0.0), cooldown_s=0.0)
    model = replace(one.model, tokens_per_step=200.0 * step_s)
    return replace(one, situation=replace(one.situation, settings=settings), model=model)


@pytest.mark.parametrize(
    ("step_s", "steps", "share"),
    [(0.001, 40, 0.5), (0.001, 20, 1.0), (0.001, 10, 1.0), (0.001, 0, 1.0), (5.0, 10, 1.0)],
)
def test_an_error_shows_after_a_window_of_steps_or_at_the_end_of_the_work(
    step_s: float, steps: int, share: float
) -> None:
    assert spread(brief(step_s, steps), TWO_A).share_until_seen == pytest.approx(share)


def test_a_new_node_is_late_by_the_rest_of_the_work_at_most() -> None:
    """10 steps on two `b` take 25 s. A new node may need 50 s longer than expected."""
    one = forecaster(limits=Limits(deadline_at=NOW + 6000.0), steps=10)
    assert spread(one, TWO_B, works_meanwhile=False).rest == pytest.approx(math.hypot(MODEL_LOG_SD, 1.0))


@pytest.mark.parametrize(
    ("measured", "apart"),
    [({2: 9.0}, 0.0), ({4: 9.0}, math.log(2)), ({8: 9.0, 4: 9.0, 16: 9.0}, math.log(2)), ({}, 0.0), (None, 0.0)],
)
def test_the_wait_for_the_network_is_unsure_at_sizes_that_were_not_measured(
    measured: dict[int, float] | None, apart: float
) -> None:
    """A step on two `a` takes 5 s, and 3 s more for the network."""
    one = with_deadline(6000.0, a=0.02)
    one = replace(one, model=replace(one.model, communication_s=lambda size: 3.0))
    one.situation.__dict__["communication"] = Communication(measured_s=measured)
    assert spread(one, TWO_A).speeds == pytest.approx(math.hypot(0.02 * 5 / 8, SIZE_LOG_SD * apart * 3 / 8))


def test_a_confidence_asks_for_the_quantile_of_a_log_normal() -> None:
    one = with_deadline(6000.0, confidence=0.95, a=0.02)
    z = NormalDist().inv_cdf(0.95)
    assert margin(one, TWO_A) == pytest.approx(math.exp(z * math.hypot(0.02, MODEL_LOG_SD)) - 1)
    assert margin(with_deadline(6000.0, confidence=0.5, a=0.02), TWO_A) == 0.0


def test_what_a_person_asks_for_counts_more_than_the_settings() -> None:
    assert with_deadline(6000.0, confidence=0.8).confidence == 0.8
    assert with_deadline(6000.0).confidence == forecaster().situation.settings.confidence == 0.99


def test_an_error_that_a_faster_fleet_can_make_up_for_counts_until_it_shows() -> None:
    """Half of an error of a tenth can be made up for, and shows after a fifth of the work."""
    assert Spread(0.1, 0.0, room=0.05, share_until_seen=0.2).late(1.0) == pytest.approx(0.05 * 0.2 + 0.05)
    assert Spread(0.1, 0.0, room=1.0, share_until_seen=0.2).late(1.0) == pytest.approx(0.02)
    assert Spread(0.1, 0.0).late(1.0) == pytest.approx(0.1)


def test_where_the_fastest_fleet_is_faster_less_is_to_spare() -> None:
    one = with_deadline(6000.0, a=0.05)
    assert margin(one, TWO_A, fastest_step_s=1.0) < margin(one, TWO_A, fastest_step_s=4.9) < margin(one, TWO_A)
    assert margin(one, TWO_A, fastest_step_s=5.0) == margin(one, TWO_A)


@pytest.mark.parametrize("left_s", [4000.0, 4950.0, 5000.0, 5100.0, 5300.0, 7000.0])
def test_the_chance_is_that_of_a_log_normal(left_s: float) -> None:
    one = with_deadline(left_s, a=0.02)
    expected = NormalDist().cdf(math.log(left_s / 5000) / math.hypot(0.02, MODEL_LOG_SD))
    assert chance_kept(one, one.stay) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("left_s", [0.0, -10.0])
def test_a_deadline_that_has_passed_is_not_kept(left_s: float) -> None:
    one = with_deadline(left_s)
    assert chance_kept(one, one.stay) == 0.0


@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.95, 0.99])
def test_with_the_margin_to_spare_the_chance_is_the_confidence(confidence: float) -> None:
    spare = margin(with_deadline(6000.0, confidence=confidence, a=0.03), TWO_A, 3.0)
    one = with_deadline(5000.0 * (1 + spare), a=0.03)
    assert chance_kept(one, one.stay, 3.0) == pytest.approx(confidence, abs=1e-4)


def test_a_fleet_of_unknown_speed_has_the_spread_of_the_model_alone() -> None:
    assert spread(with_deadline(6000.0), Fleet({"new": 1})) == Spread(0.0, MODEL_LOG_SD)


def test_the_usual_bounds_leave_what_the_present_fleet_needs_to_spare() -> None:
    one = with_deadline(6000.0, a=0.02)
    assert usual_bounds(one) == one.bounds_within(margin(one, TWO_A))
    careless = with_deadline(6000.0, confidence=0.5, a=0.02)
    assert usual_bounds(careless) == careless.bounds_within(LEAST_MARGIN)
