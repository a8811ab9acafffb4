"""What the training would have cost on other fleets, against sums done by hand."""

from __future__ import annotations

import pytest

from controller.domain import Fleet
from controller.record.journal.summary import Summary
from controller.record.report.alternatives import alternatives, communication_s, spent_usd

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


def test_its_own_cost_is_that_of_the_training_alone_from_its_first_step_on() -> None:
    found = alternatives(RUN, MIXED, PRICES, SPEEDS, until=360.0)
    assert found["training_s"] == 260.0 + 2 * 2.5
    assert found["training_usd"] == pytest.approx(265 * 0.42 / 3600, abs=1e-6)
    assert found["usd_per_million_tokens"] == pytest.approx(265 * 0.42 / 3600 / 6000 * 1e6, rel=1e-3)


def test_a_training_that_goes_on_from_a_checkpoint_began_no_earlier_than_the_look_before_it() -> None:
    carried_on = (RUN[0], summary(100, MIXED, 500), summary(200, MIXED, 540))
    assert alternatives(carried_on, MIXED, PRICES, SPEEDS)["training_s"] == 200.0
    assert alternatives(carried_on[1:], MIXED, PRICES, SPEEDS)["training_s"] == 100.0


def test_what_the_training_itself_says_that_it_trained_on_is_what_was_paid_for() -> None:
    assert alternatives(RUN, MIXED, PRICES, SPEEDS, 360.0, 7000)["tokens"] == 7000
    assert alternatives(RUN[:1], MIXED, PRICES, SPEEDS, 360.0, 7000)["tokens"] == 0


def test_a_run_that_stays_on_its_fleet_costs_what_that_fleet_costs() -> None:
    whole = (Summary(0.0, MIXED, 0.42), *(summary(10.0 * n, MIXED, 4 * n) for n in range(1, 10)))
    found = alternatives(whole, MIXED, PRICES, SPEEDS, until=90.0)
    (first,) = (fleet for fleet in found["fleets"] if fleet["name"] == "first fleet")
    assert first["usd"] == pytest.approx(found["training_usd"], abs=1e-6)


def test_a_first_fleet_of_one_flavor_is_not_told_twice() -> None:
    alone = Fleet({"fast": 2})
    found = alternatives((summary(100, alone, 2), summary(200, alone, 4)), alone, PRICES, SPEEDS)
    assert [fleet["name"] for fleet in found["fleets"]] == ["first fleet", "slow"]


def test_nothing_is_compared_where_no_step_was_seen() -> None:
    assert alternatives(RUN[:1], MIXED, PRICES, {}) == {
        "tokens": 0, "training_usd": 0, "training_s": 0.0, "usd_per_million_tokens": None, "head_usd_per_hour": 0.0,
        "fleets": []}  # fmt: skip


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
