"""What traffic between zones is expected to cost: by the number of nodes, and for the nodes that run by their zones."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controller.decide.model.traffic import FREE, Traffic, expected_traffic
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation, TrainingState

TWO = DecideSettings(zones=2, usd_per_zones_gb=0.5)
FOUR = Fleet({"a": 4})


def seen(gradient_bytes: int | None = 10**9, zones: dict[str, int] | None = None, **others: Any) -> Observation:
    facts = tuple(
        Fact(f"i-{rank}", "a", rank, 4, TrainingState.TRAINING, 9, 1.0, 0.5, 8.0, 9.0, 50, 0.0, gradient_bytes=size)
        for rank, size in enumerate([gradient_bytes] * 4)
    )
    return Observation(0.0, FOUR, others.get("facts", facts), zones=zones or {})


def test_new_nodes_spread_evenly_and_half_of_the_gradients_cross_between_two_zones() -> None:
    """Of 2 n B bytes that go around the ring, in the limit of many nodes, half cross."""
    found = expected_traffic([seen()], TWO)
    assert [found.usd_of_size(size) for size in (0, 1, 2, 3, 4)] == pytest.approx([0.0, 0.0, 1.0, 4 / 3, 2.0])
    assert found.usd_of(Fleet({"a": 1, "b": 3})) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("zones", "usd"), [({"x": 4}, 0.0), ({"x": 3, "y": 1}, 1.5), ({"x": 2, "y": 2}, 2.0), ({"x": 1, "y": 1}, 2.0)]
)
def test_the_fleet_that_runs_costs_what_its_zones_say_where_all_are_known(zones: dict[str, int], usd: float) -> None:
    found = expected_traffic([seen(zones=zones)], TWO)
    assert found.usd_of(FOUR) == pytest.approx(usd)
    assert found.usd_of(Fleet({"b": 4})) == pytest.approx(2.0), "another fleet spreads evenly"


def test_nodes_that_run_in_more_zones_than_is_known_of_show_how_new_ones_spread() -> None:
    unknown = DecideSettings(usd_per_zones_gb=0.5)
    assert expected_traffic([seen(zones={"x": 2, "y": 2})], unknown).usd_of_size(2) == pytest.approx(1.0)
    one = expected_traffic([seen(zones={"x": 4})], unknown)
    assert one.is_free and one.usd_of_size(4) == one.usd_of(FOUR) == 0.0


@pytest.mark.parametrize(
    ("observations", "settings"),
    [
        ([seen(None)], TWO),
        ([seen(facts=())], TWO),
        ([], TWO),
        ([seen()], DecideSettings(zones=2)),
        ([seen(), seen(None)], TWO),
    ],
)
def test_without_the_size_of_the_gradients_or_a_price_nothing_is_counted(
    observations: list[Observation], settings: DecideSettings
) -> None:
    found = expected_traffic(observations, settings)
    assert found.is_free and found.usd_of_size(4) == found.usd_of(FOUR) == 0.0


def test_the_last_facts_that_there_are_tell_the_size() -> None:
    assert expected_traffic([seen(), seen(2 * 10**9), seen(facts=())], TWO).usd == 1.0


def test_the_fleet_that_runs_never_costs_more_than_another_of_its_size() -> None:
    for zones in ({"x": 4}, {"x": 3, "y": 1}, {"x": 2, "y": 2}, {"x": 2, "y": 1, "z": 1}, {"x": 1, "y": 1, "z": 2}):
        found = expected_traffic([seen(zones=zones)], TWO)
        assert found.usd_of(FOUR) <= found.usd_of_size(4) * (1 + 1e-12)
    assert FREE.is_free and not Traffic(1.0, 2).is_free and math.isfinite(Traffic(1.0, 3).usd_of_size(1))
