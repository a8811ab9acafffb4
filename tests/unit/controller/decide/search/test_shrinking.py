"""The best fleet that remains as nodes end, the most expensive per token first: here `x`, then `y`, then `z`."""

from __future__ import annotations

import pytest

from controller.decide import Batches, Objective
from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.traffic import Traffic
from controller.decide.search.shrinking import best_shrunk
from controller.domain import Fleet

SPEEDS = {"x": 500.0, "y": 3000.0, "z": 1000.0}
PRICES = {"x": 0.2, "y": 0.6, "z": 0.1}
CAPS = dict.fromkeys("xyz", 9)
CURRENT = Fleet({"x": 2, "y": 1, "z": 2})


def shrunk(
    bounds: Bounds, objective: Objective, batches: Batches = Batches.BALANCED, current: Fleet = CURRENT
) -> dict[str, int] | None:
    model = FleetModel(SPEEDS, PRICES, 6000.0, lambda size: 0.01 * size, head_usd_per_hour=0.1, batches=batches)
    fleet = best_shrunk(model, bounds, current, objective)
    return None if fleet is None else dict(fleet.present)


@pytest.mark.parametrize(
    ("bounds", "objective", "left"),
    [
        (Bounds(CAPS), Objective.COST, {"z": 2}),
        (Bounds(CAPS), Objective.TIME, {"x": 2, "y": 1, "z": 2}),
        (Bounds(CAPS, 3), Objective.COST, {"y": 1, "z": 2}),
        (Bounds(CAPS, 1, 4), Objective.TIME, {"x": 1, "y": 1, "z": 2}),
        (Bounds(CAPS, 1, None, 0.95), Objective.TIME, {"y": 1, "z": 2}),
        (Bounds(CAPS, max_step_s=1.15), Objective.COST, {"x": 1, "y": 1, "z": 2}),
        (Bounds({"y": 9, "z": 1}), Objective.TIME, {"y": 1, "z": 1}),
        (Bounds(CAPS, 6), Objective.TIME, None),
        (Bounds({"other": 9}), Objective.TIME, None),
    ],
)
def test_as_many_nodes_end_as_limits_and_objective_ask_for(
    bounds: Bounds, objective: Objective, left: dict[str, int] | None
) -> None:
    assert shrunk(bounds, objective) == left


def test_where_traffic_between_zones_is_expensive_more_nodes_end() -> None:
    model = FleetModel(SPEEDS, PRICES, 6000.0, lambda size: 0.01 * size, head_usd_per_hour=0.1, traffic=Traffic(1.0, 2))
    assert best_shrunk(model, Bounds(CAPS), CURRENT, Objective.COST) == Fleet({"z": 1})
    assert best_shrunk(model, Bounds(CAPS), CURRENT, Objective.TIME) == CURRENT
    most = model.fleet_usd_per_hour({"z": 2}) / 3600 * model.step_time_s({"z": 2})
    bounds = Bounds(CAPS, max_usd_per_step=most)
    assert best_shrunk(model, bounds, CURRENT, Objective.TIME) is None, "the limit on a step counts it"


def test_with_equal_batches_nodes_that_hold_up_the_others_end() -> None:
    assert shrunk(Bounds(CAPS), Objective.TIME, Batches.EQUAL) == {"y": 1, "z": 2}


def test_nodes_of_unknown_speed_end() -> None:
    current = Fleet({"z": 1, "other": 2})
    assert shrunk(Bounds({**CAPS, "other": 9}), Objective.TIME, current=current) == {"z": 1}


def test_flavors_that_cost_the_same_per_token_end_in_the_order_of_their_names_the_last_first() -> None:
    model = FleetModel(dict.fromkeys("ba", 100.0), dict.fromkeys("ba", 0.1), 100.0, lambda size: 0.0)
    bounds = Bounds({"a": 9, "b": 9}, 1, 1)
    assert best_shrunk(model, bounds, Fleet({"b": 1, "a": 1}), Objective.COST) == Fleet({"a": 1})
