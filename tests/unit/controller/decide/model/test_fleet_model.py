"""The model of a fleet: T = B / S + t_comm(N), and what follows from it, worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.traffic import Traffic
from controller.domain import Fleet, FleetEstimate
from controller.domain.batches import Batches

MIXED = Fleet({"a": 2, "b": 1, "none": 0})


def model(**other: Any) -> FleetModel:
    """A step has 1,200 tokens. Each node adds 0.5 s of communication."""
    values = {
        "tokens_per_s": {"a": 100.0, "b": 200.0},
        "usd_per_hour": {"a": 1.0, "b": 4.0},
        "tokens_per_step": 1200.0,
        "communication_s": lambda size: 0.5 * size,
        "head_usd_per_hour": 3.0,
        **other,
    }
    return FleetModel(**values)


EQUAL = {"batches": Batches.EQUAL}


@pytest.mark.parametrize(
    ("batches", "speed", "step_s"), [(Batches.BALANCED, 400.0, 3.0 + 1.5), (Batches.EQUAL, 300.0, 4.0 + 1.5)]
)
def test_with_equal_batches_the_slowest_node_sets_the_pace(batches: Batches, speed: float, step_s: float) -> None:
    one = model(batches=batches)
    assert (one.speed(MIXED), one.step_time_s(MIXED)) == (speed, step_s)
    assert one.speed({"a": 0}) == 0.0


def test_a_fleet_without_a_node_never_ends_a_step() -> None:
    assert model().step_time_s({}) == model().step_time_s({"a": 0}) == math.inf


def test_flavors_may_be_given_other_speeds() -> None:
    other = model().with_speeds({"b": 400.0, "c": 1.0})
    assert other.tokens_per_s == {"a": 100.0, "b": 400.0, "c": 1.0}
    assert other.speed({"a": 2, "b": 1}) == 600.0


def test_a_step_costs_the_fleet_and_the_head_for_its_time() -> None:
    assert model().fleet_usd_per_hour(MIXED) == 2 + 4 + 3
    assert model().usd_per_step(MIXED) == pytest.approx(9 * 4.5 / 3600)
    assert model().usd_per_token(MIXED) == pytest.approx(9 * 4.5 / 3600 / 1200)
    with pytest.raises(KeyError):
        model().fleet_usd_per_hour({"new": 1})


@pytest.mark.parametrize(
    ("fleet", "is_known"),
    [
        ({"a": 1}, True),
        ({"a": 1, "new": 0}, True),
        ({"a": 1, "new": 1}, False),
        ({"a": 1, "unpriced": 1}, False),
        ({"a": 1, "unmeasured": 1}, False),
        ({"a": 0}, False),
        ({}, False),
    ],
)
def test_a_fleet_is_known_when_each_of_its_flavors_has_a_speed_and_a_price(
    fleet: dict[str, int], is_known: bool
) -> None:
    one = model(tokens_per_s={"a": 1.0, "unpriced": 1.0}, usd_per_hour={"a": 1.0, "unmeasured": 1.0})
    assert one.knows(fleet) is is_known


def test_the_gradient_is_the_share_of_each_flavor_in_the_time_of_a_step() -> None:
    share = 3.0 / 4.5
    assert model().log_cost_gradient(MIXED) == {"a": pytest.approx(-share / 2), "b": pytest.approx(-share / 2)}
    assert model(**EQUAL).log_cost_gradient(MIXED) == {"a": pytest.approx(-4.0 / 5.5)}


def test_of_equal_batches_the_gradient_is_that_of_the_slowest_flavor_whatever_its_name() -> None:
    one = model(**EQUAL).with_speeds({"a": 400.0})
    assert one.log_cost_gradient(MIXED) == {"b": pytest.approx(-2.0 / 3.5)}


@pytest.mark.parametrize("flavor", ["a", "b"])
def test_the_gradient_is_that_of_the_cost(flavor: str) -> None:
    one, step = model(), 1e-6
    faster = one.with_speeds({flavor: one.tokens_per_s[flavor] * math.exp(step)})
    slope = (math.log(faster.usd_per_token(MIXED)) - math.log(one.usd_per_token(MIXED))) / step
    assert one.log_cost_gradient(MIXED)[flavor] == pytest.approx(slope, rel=1e-4)


def test_what_is_paid_for_traffic_is_as_certain_as_it_is_whatever_the_speeds() -> None:
    one, step = model(log_se={"a": 0.1, "b": 0.2}, traffic=Traffic(0.004, 2)), 1e-6
    only_a, only_b = Fleet({"a": 3}), Fleet({"b": 1})
    slopes = []
    for flavor, fleet in (("a", only_a), ("b", only_b)):
        faster = one.with_speeds({flavor: one.tokens_per_s[flavor] * math.exp(step)})
        slopes.append((math.log(faster.usd_per_token(fleet)) - math.log(one.usd_per_token(fleet))) / step)
    expected = math.hypot(slopes[0] * 0.1, slopes[1] * 0.2)
    assert one.log_cost_difference_se(only_a, only_b) == pytest.approx(expected, rel=1e-4)
    assert expected < model(log_se={"a": 0.1, "b": 0.2}).log_cost_difference_se(only_a, only_b)


def test_the_uncertainty_of_what_two_fleets_share_cancels_out() -> None:
    one = model(log_se={"a": 0.1, "b": 0.2})
    assert one.log_cost_difference_se(MIXED, MIXED) == 0.0
    only_a, only_b = Fleet({"a": 3}), Fleet({"b": 3})
    share_a, share_b = 4.0 / 5.5, 2.0 / 3.5
    assert one.log_cost_difference_se(only_a, only_b) == pytest.approx(math.hypot(share_a * 0.1, share_b * 0.2))
    assert one.log_cost_difference_se(only_b, only_a) == pytest.approx(math.hypot(share_a * 0.1, share_b * 0.2))
    of_a = share_a - (3.0 / 4.5) / 2
    assert one.log_cost_difference_se(only_a, MIXED) == pytest.approx(math.hypot(of_a * 0.1, 0.2 / 3))
    assert model(log_se={"a": 0.1}).log_cost_difference_se(only_b, Fleet({"b": 2})) == 0.0


def test_an_estimate_has_all_numbers_of_a_fleet() -> None:
    found = model().estimate(MIXED, 100, held_up_s=0.5)
    assert found == FleetEstimate(
        MIXED,
        step_time_s=5.0,
        tokens_per_s=240.0,
        usd_per_hour=9.0,
        usd_per_million_tokens=pytest.approx(9 / 3600 / 240 * 1e6),
        remaining_s=500.0,
        remaining_usd=pytest.approx(500 * 9 / 3600),
    )
    assert model().estimate(MIXED).step_time_s == 4.5
    assert (model().estimate(MIXED).remaining_s, model().estimate(MIXED).remaining_usd) == (None, None)
    unknown = Fleet({"new": 1})
    assert model().estimate(unknown, 100) == FleetEstimate(unknown, None, None, None, None)
