"""The fleets that a decision lists beside the chosen one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.search.compared import runners_up, scaling
from controller.decide.settings import DecideSettings
from controller.domain import Fleet
from controller.domain.objective import Objective

SPEEDS = {"slow": 1000.0, "fast": 3000.0, "middle": 2000.0}
PRICES = {"slow": 0.1, "fast": 0.6, "middle": 0.3}
CAPS = {"slow": 9, "fast": 9, "middle": 2}


def forecaster(bounds: Bounds | None = None, **settings: Any) -> Forecaster:
    """A step takes a tenth of a second longer with each further node, so that one node alone is the cheapest fleet."""
    model = FleetModel(SPEEDS, PRICES, 6000.0, lambda size: 0.1 * (size - 1))
    situation: Any = SimpleNamespace(settings=DecideSettings(**settings))
    return Forecaster(situation, model, bounds or Bounds(CAPS, 1, 4), remaining_steps=100)


@pytest.mark.parametrize(
    ("bounds", "settings", "fleets"),
    [
        (None, {}, [{"slow": 1}, {"middle": 1}, {"fast": 1}]),
        (None, {"runners_up": 2}, [{"slow": 1}, {"middle": 1}]),
        (None, {"runners_up": 0}, []),
        (None, {"detailed": False}, []),
        (None, {"objective": Objective.TIME}, [{"slow": 4}, {"middle": 2}, {"fast": 4}]),
        (Bounds(CAPS, 3, 4), {}, [{"slow": 3}, {"fast": 3}]),
        (Bounds(CAPS, 1, 3), {"objective": Objective.TIME}, [{"slow": 3}, {"middle": 2}, {"fast": 3}]),
        (Bounds(CAPS, 1, 4, 0.5), {"objective": Objective.TIME}, [{"slow": 4}, {"middle": 1}]),
    ],
)
def test_the_best_fleet_of_each_flavor_within_the_limits_is_listed_the_cheapest_first(
    bounds: Bounds | None, settings: dict[str, Any], fleets: list[dict[str, int]]
) -> None:
    assert runners_up(forecaster(bounds, **settings)) == [Fleet(each) for each in fleets]


@pytest.mark.parametrize(
    ("fleet", "main", "sizes"),
    [
        ({"slow": 1}, "slow", [1, 2, 3, 4]),
        ({"slow": 1, "fast": 5}, "fast", [1, 2, 3, 4, 6, 8, 12, 16, 24]),
        ({"slow": 4, "fast": 3}, "slow", [1, 2, 3, 4, 6, 7, 8, 12, 16, 24]),
        ({"slow": 1, "fast": 1}, "slow", [1, 2, 3, 4, 6, 8]),
        ({"middle": 1, "fast": 1}, "middle", [1, 2, 3, 4, 6, 8]),
    ],
)
def test_the_flavor_with_the_most_nodes_is_estimated_up_to_four_times_the_size(
    fleet: dict[str, int], main: str, sizes: list[int]
) -> None:
    one = forecaster()
    found = scaling(one, Fleet(fleet))
    assert [estimate.fleet for estimate in found] == [Fleet({main: size}) for size in sizes]
    assert all(estimate == one.model.estimate(estimate.fleet, 100) for estimate in found)
    assert found[0].remaining_s == pytest.approx(100 * 6000.0 / SPEEDS[main])


def test_scaling_is_left_out_without_a_fleet_and_where_nobody_reads_it() -> None:
    assert scaling(forecaster(), Fleet({})) == ()
    assert scaling(forecaster(detailed=False), Fleet({"slow": 1})) == ()
