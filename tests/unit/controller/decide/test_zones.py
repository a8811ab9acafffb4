"""Decisions where nodes are in several zones: a step's gradients that cross zones are paid.

A node of `small` makes 1,000 tokens a second for $0.1 an hour. A step has 6,000 tokens and four nodes take 1.5 s, which
cost $0.00017. Where they are in two zones, four times what a node's gradients cost is paid beside that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.decide import DecideSettings, DecisionInput
from controller.decide.model.situation import assess
from controller.domain import Decision, Fleet, Limits, Verdict
from controller.record.report.explanation import render_explanation

FOUR = Fleet({"small": 4})
DEAR = DecideSettings(zones=2, usd_per_zones_gb=1e-4, saving_margin=0.0)
"""A rank's gradients have a gigabyte."""
LIMITS = Limits(min_nodes=2, max_nodes=4)


def decision(
    training: Any,
    zones: dict[str, int],
    settings: DecideSettings = DEAR,
    gradient_bytes: int | None = 10**9,
    limits: Limits = LIMITS,
) -> Decision:
    training.speeds, training.prices, training.fleet = {"small": 1000.0}, {"small": 0.1}, FOUR
    present = replace(training.observe(gradient_bytes=gradient_bytes), zones=zones)
    found: Decision = training.decide(limits, settings, present)
    return found


def test_a_fleet_in_one_zone_stays_and_one_in_two_zones_makes_itself_smaller(training: Any) -> None:
    """Two nodes in two zones pay half of what four do."""
    together, apart = decision(training, {"a": 4}), decision(training, {"a": 2, "b": 2})
    assert (together.verdict, together.target) == (Verdict.STAY, FOUR)
    assert (apart.verdict, apart.target) == (Verdict.MOVE, Fleet({"small": 2}))


def test_what_traffic_costs_an_hour_is_in_the_estimates_and_is_explained(training: Any) -> None:
    apart = decision(training, {"a": 2, "b": 2})
    present = apart.fleets[0]
    assert present.fleet == FOUR
    assert present.traffic_usd_per_hour == pytest.approx(4 * 1e-4 / 1.5 * 3600)
    assert present.usd_per_hour == pytest.approx(0.4 + present.traffic_usd_per_hour)
    assert present.usd_per_million_tokens == pytest.approx((0.4 / 3600 * 1.5 + 4e-4) / 6000 * 1e6)
    steps = training.progress.remaining_steps
    assert present.remaining_usd == pytest.approx((0.4 / 3600 * 1.5 + 4e-4) * steps)
    assert "$0.9600/h for traffic between zones" in " ".join(render_explanation(apart, 200).split())
    assert "traffic" not in render_explanation(decision(training, {"a": 4}, replace(DEAR, zones=1)), 200)


def test_while_everything_is_given_back_traffic_is_paid_as_long_as_it_trains(training: Any) -> None:
    decision(training, {"a": 2, "b": 2})
    present = replace(training.observe(gradient_bytes=10**9), zones={"a": 2, "b": 2})
    settings = replace(DEAR, ending_s=90.0)
    given = DecisionInput((present,), training.listed_prices, LIMITS, training.progress, training.history, settings)
    assert assess(given).ending_usd == pytest.approx((0.4 / 3600 + 4e-4 / 1.5) * 90)


@pytest.mark.parametrize(
    ("settings", "gradient_bytes"),
    [(replace(DEAR, zones=1), 10**9), (replace(DEAR, usd_per_zones_gb=0.0), 10**9), (DEAR, None)],
    ids=["one zone", "free", "a trainer that does not tell"],
)
def test_where_nothing_is_paid_decisions_are_what_they_always_were(
    training: Any, settings: DecideSettings, gradient_bytes: int | None
) -> None:
    plain = decision(training, {}, replace(DEAR, zones=1, usd_per_zones_gb=0.0), None)
    assert decision(training, {"a": 4}, settings, gradient_bytes) == plain
