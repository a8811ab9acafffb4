"""What the training would have cost on other fleets, against sums done by hand."""

from __future__ import annotations

import pytest

from controller.domain import Fleet
from controller.record.alternatives import alternatives, communication_s, spent_usd
from controller.record.summary import Summary

PRICES = {"slow": 0.10, "fast": 0.30}
SPEEDS = {"slow": 100.0, "fast": 400.0}
HEAD = 0.02
MIXED = Fleet({"slow": 1, "fast": 1})


def summary(at: float, fleet: Fleet, step: int, iteration_s: float = 2.5, compute_s: float = 2.0) -> Summary:
    """A step has 1,000 tokens."""
    return Summary(at, fleet, fleet.usd_per_hour(PRICES) + HEAD, ranks=fleet.size, world_size=fleet.size, is_whole=True,
                   step=step, total_steps=10, total_tokens=1000 * step, iteration_time_s=iteration_s,
                   slowest_compute_s=compute_s, tokens=1000.0)  # fmt: skip


RUN = (Summary(0.0, MIXED, 0.42), summary(100, MIXED, 2), summary(200, MIXED, 4), summary(300, MIXED, 6))


def test_a_fleet_that_trained_is_taken_as_measured_and_any_other_by_the_model() -> None:
    found = alternatives(RUN, MIXED, PRICES, SPEEDS, until=360.0)
    fleets = {fleet["name"]: fleet for fleet in found["fleets"]}
    assert found["tokens"] == 6000
    assert found["head_usd_per_hour"] == pytest.approx(HEAD)
    assert fleets["first fleet"]["source"] == "measured"
    assert fleets["first fleet"]["training_s"] == pytest.approx(6 * 2.5)
    assert fleets["first fleet"]["usd"] == pytest.approx(15 * 0.42 / 3600, abs=1e-6)
    assert fleets["fast"]["fleet"] == {"fast": 2}
    assert fleets["fast"]["source"] == "model"
    assert fleets["fast"]["training_s"] == pytest.approx(6 * (1000 / 800 + 0.5))
    assert fleets["slow"]["usd"] == pytest.approx(6 * (1000 / 200 + 0.5) * 0.22 / 3600, abs=1e-6)


def test_its_own_cost_is_that_of_the_training_alone() -> None:
    found = alternatives(RUN, MIXED, PRICES, SPEEDS, until=360.0)
    assert found["training_usd"] == pytest.approx(260 * 0.42 / 3600, abs=1e-6)
    assert found["training_s"] == 260.0


def test_nothing_is_compared_where_no_step_was_seen() -> None:
    assert alternatives(RUN[:1], MIXED, PRICES, {}) == {
        "tokens": 0, "training_usd": 0, "training_s": 0.0, "head_usd_per_hour": 0.0, "fleets": []}  # fmt: skip


def test_a_flavor_of_unknown_price_is_left_out() -> None:
    found = alternatives(RUN, MIXED, PRICES, {**SPEEDS, "odd": 50.0})
    assert [fleet["name"] for fleet in found["fleets"]] == ["first fleet", "fast", "slow"]


def test_communication_is_what_a_step_takes_beyond_its_slowest_rank() -> None:
    alone = Fleet({"fast": 1})
    runs = (*RUN, summary(400, MIXED, 7, 2.7, 2.0), summary(500, alone, 8, 2.0, 2.1))
    assert communication_s(runs) == {1: 0.0, 2: pytest.approx(0.5)}


def test_money_is_spent_from_look_to_look() -> None:
    assert spent_usd(()) == 0
    assert spent_usd(RUN[:1]) == 0
    assert spent_usd(RUN[:2]) == pytest.approx(100 * 0.42 / 3600, abs=1e-6)
