"""Steps on nodes whose CPU credits run out, worked out by hand.

A step has 1,000 tokens, and nothing waits for the network. A node of `a` makes 400 tokens a second with credits and 100
without, a node of `b` always 200. So a step on two `a` takes 1.25 s with credits, and 5 s without.
"""

from __future__ import annotations

import pytest

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.running_out import mean_speeds, mean_step_s, step_now_s
from controller.decide.samples.credits import Burst
from controller.domain import NO_NODES, Fleet
from controller.domain.batches import Batches

MODEL = FleetModel({"a": 100.0, "b": 200.0}, {"a": 1.0, "b": 1.0}, 1000.0, lambda size: 0.0)
TWO_A, TWO_B = Fleet({"a": 2}), Fleet({"b": 2})


def burst(fresh_s: float = 0.0, **left_s: float) -> dict[str, Burst]:
    return {"a": Burst(400.0, fresh_s, left_s)}


@pytest.mark.parametrize(
    ("left_s", "steps", "seconds"),
    [
        ({"x": 125.0, "y": 125.0}, 100, 1.25),
        ({"x": 125.0, "y": 125.0}, 200, (125 + 100 * 5.0) / 200),
        ({"x": 0.0, "y": 0.0}, 100, 5.0),
        ({"x": 0.0, "y": 100.0}, 50, 2.0),
        ({"x": 125.0, "y": 325.0}, 300, (125 + 200 + 100 * 5.0) / 300),
        ({"x": 0.5, "y": 0.5}, 1, 0.5 + (1 - 0.5 / 1.25) * 5.0),
    ],
    ids=[
        "all on credits",
        "half on credits",
        "no credits left",
        "one of two has credits",
        "one after the other",
        "for a part of the only step",
    ],
)
def test_a_step_takes_as_long_as_the_credits_of_each_node_allow(
    left_s: dict[str, float], steps: int, seconds: float
) -> None:
    assert mean_step_s(MODEL, burst(**left_s), TWO_A, TWO_A, steps) == pytest.approx(seconds)


def test_new_nodes_have_the_credits_of_fresh_ones() -> None:
    assert mean_step_s(MODEL, burst(125.0), NO_NODES, TWO_A, 100) == pytest.approx(1.25)
    assert mean_step_s(MODEL, burst(125.0, x=0.0), Fleet({"a": 1}), TWO_A, 50) == pytest.approx(2.0)


def test_nodes_that_do_not_report_have_as_many_credits_as_the_others() -> None:
    """A node of two tells of 125 s. Where none tells, none has any."""
    assert mean_step_s(MODEL, burst(x=125.0), TWO_A, TWO_A, 100) == pytest.approx(1.25)
    assert mean_step_s(MODEL, burst(), TWO_A, TWO_A, 100) == pytest.approx(5.0)


def test_of_a_flavor_that_shrinks_the_nodes_with_the_most_credits_stay() -> None:
    assert mean_step_s(MODEL, burst(x=0.0, y=250.0), TWO_A, Fleet({"a": 1}), 100) == pytest.approx(2.5)


def test_flavors_without_credits_are_as_the_model_has_them() -> None:
    assert mean_step_s(MODEL, burst(125.0), TWO_B, TWO_B, 100) == MODEL.step_time_s(TWO_B)
    assert mean_step_s(MODEL, {}, TWO_A, TWO_A, 100) == MODEL.step_time_s(TWO_A)
    assert mean_step_s(MODEL, burst(x=9.0, y=9.0), TWO_A, TWO_A, 0) == MODEL.step_time_s(TWO_A)


def test_with_equal_batches_the_slowest_node_sets_the_pace() -> None:
    equal = FleetModel(MODEL.tokens_per_s, MODEL.usd_per_hour, 1000.0, lambda size: 0.0, batches=Batches.EQUAL)
    assert mean_step_s(equal, burst(x=0.0, y=1e6), TWO_A, TWO_A, 10) == pytest.approx(5.0)
    assert mean_step_s(equal, burst(x=1e6, y=1e6), TWO_A, TWO_A, 10) == pytest.approx(1.25)


def test_a_step_at_this_moment_counts_who_has_credits_now() -> None:
    assert step_now_s(MODEL, burst(x=0.0, y=1.0), TWO_A) == pytest.approx(2.0)
    assert step_now_s(MODEL, {}, TWO_A) == 5.0


@pytest.mark.parametrize(("seconds", "speed"), [(50.0, 400.0), (100.0, 400.0), (300.0, 200.0), (0.0, 400.0)])
def test_the_mean_speed_over_a_while_is_between_both(seconds: float, speed: float) -> None:
    assert mean_speeds(MODEL, burst(100.0, x=50.0), seconds) == {"a": pytest.approx(speed)}


@pytest.mark.parametrize(
    ("bursts", "seconds", "speed"),
    [
        (burst(0.0, x=50.0, y=150.0), 100.0, 400.0),
        (burst(0.0, x=50.0, y=150.0), 400.0, 175.0),
        (burst(120.0, x=50.0, y=150.0), 400.0, 190.0),
        (burst(100.0), 400.0, 175.0),
        (burst(0.0), 10.0, 100.0),
        (burst(0.1), 0.5, 160.0),
    ],
    ids=[
        "for all of it",
        "for a quarter",
        "fresh ones have more",
        "none runs",
        "there are no credits",
        "a short while",
    ],
)
def test_the_mean_speed_counts_the_credits_of_nodes_that_run_on_average_or_of_fresh_ones_where_these_have_more(
    bursts: dict[str, Burst], seconds: float, speed: float
) -> None:
    assert mean_speeds(MODEL, bursts, seconds) == {"a": pytest.approx(speed)}


def test_a_flavor_of_unknown_speed_has_no_mean_speed() -> None:
    assert mean_speeds(FleetModel({}, {}, 1.0, lambda size: 0.0), burst(100.0), 10.0) == {}
