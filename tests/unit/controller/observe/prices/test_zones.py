"""What traffic between zones costs an hour, by the zones that EC2 tells and by what the ranks say of themselves.

A rank's gradients have a gigabyte and a step takes 4 s, so that a gigabyte a step is 900 GB an hour.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain import Fact, Fleet, Instance, Observation, Price, TrainingState
from controller.domain.prices.traffic import USD_PER_ZONES_GB, ZONES_GB
from controller.observe.prices.zones import nodes_by_zone, traffic_usd_per_hour, usd_per_zones_gb

NOW, USD_PER_GB = 10_000.0, 0.5
GB_AN_HOUR = 900.0


def workers(zones: str) -> list[Instance]:
    """One worker for each letter, in the zone of that name; none is known where it is a blank."""
    return [
        Instance(f"i-{number}", "c5.large", "worker", "running", "10.0.0.1", zone=zone.strip() or None)
        for number, zone in enumerate(zones)
    ]


def fact(rank: int, size: int, **others: Any) -> Fact:
    told: dict[str, Any] = {"gradient_bytes": 10**9, "state": TrainingState.TRAINING, "iteration_time_s": 4.0, **others}
    state, step_s = told.pop("state"), told.pop("iteration_time_s")
    return Fact(f"i-{rank}", "c5.large", rank, size, state, 100, step_s, 0.4, 8.0, 100.0, 50, NOW, **told)


def usd(zones: str, facts: list[Fact] | None = None, **others: Any) -> float:
    told = [fact(rank, len(zones), **others) for rank in range(len(zones))] if facts is None else facts
    seen = Observation(NOW, Fleet({"c5.large": len(zones)}), tuple(told))
    return traffic_usd_per_hour(seen, workers(zones), USD_PER_GB)


@pytest.mark.parametrize(("zones", "gigabytes"), [("a", 0.0), ("aaaa", 0.0), ("ab", 2.0), ("aabb", 3.0), ("abab", 6.0)])
def test_the_hops_from_rank_to_rank_that_cross_zones_are_paid(zones: str, gigabytes: float) -> None:
    assert usd(zones) == pytest.approx(gigabytes * GB_AN_HOUR * USD_PER_GB)


def test_the_ring_goes_by_rank_whatever_the_order_of_the_instances() -> None:
    ranks = [fact(rank, 4, iteration_time_s=4.0) for rank in range(4)]
    others = {"i-0": 0, "i-1": 2, "i-2": 1, "i-3": 3}
    moved = [Fact(**{**one.__dict__, "rank": others[one.instance_id]}) for one in ranks]
    assert usd("aabb", moved) == usd("abab")


def test_where_not_all_ranks_report_the_others_are_taken_to_be_where_those_are() -> None:
    """Four ranks, two in each zone: in a random order 8/3 hops cross, each with 1.5 GB."""
    assert usd("abab", [fact(0, 4), fact(1, 4)]) == pytest.approx(8 / 3 * 1.5 * GB_AN_HOUR * USD_PER_GB)
    assert usd("abab", [fact(0, 4), fact(2, 4)]) == 0.0, "both are in the same zone"
    assert usd("ab ", [fact(0, 3), fact(1, 3), fact(2, 3)]) == pytest.approx(3.0 * GB_AN_HOUR * USD_PER_GB)


@pytest.mark.parametrize(
    "unknown", [{"gradient_bytes": None}, {"iteration_time_s": None}, {"state": TrainingState.FINISHED}], ids=str
)
def test_what_is_unknown_or_does_not_train_costs_nothing(unknown: dict[str, Any]) -> None:
    assert usd("ab", **unknown) == 0.0


def test_a_trainer_that_does_not_say_how_long_its_steps_take_everywhere_is_taken_at_the_median() -> None:
    told = [fact(0, 2, iteration_time_s=8.0), fact(1, 2, iteration_time_s=None)]
    assert usd("ab", told) == pytest.approx(2.0 * GB_AN_HOUR / 2 * USD_PER_GB)


def test_the_nodes_that_run_are_counted_by_zone() -> None:
    found = workers("bab ")
    stopped = Instance("i-9", "c5.large", "worker", "pending", zone="a")
    assert nodes_by_zone([*found, stopped]) == {"a": 1, "b": 2}


def test_a_price_of_ones_own_counts_instead_of_that_of_the_table() -> None:
    assert usd_per_zones_gb({}) == USD_PER_ZONES_GB == 0.02
    assert usd_per_zones_gb({ZONES_GB: Price(ZONES_GB, 0.04)}) == 0.04
