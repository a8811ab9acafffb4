"""The flavors of a search: which world sizes are looked at, and how many nodes of each flavor a fleet has."""

from __future__ import annotations

import numpy as np

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search.hull import Flavors

MODEL = FleetModel({"a": 100.0, "b": 200.0}, {"a": 1.0, "b": 2.0}, 600.0, lambda _: 0.0)


def flavors(largest: int, most_sizes: int | None = None) -> Flavors:
    """Returns the flavors of fleets of 1 to `largest` nodes."""
    return Flavors(MODEL, Bounds({"a": largest, "b": 1}, 1, largest), most_sizes)


def test_every_size_is_looked_at_while_there_are_no_more_than_may_be() -> None:
    assert flavors(20, most_sizes=20).sizes.tolist() == [*range(1, 21)]


def test_of_many_sizes_some_are_looked_at_from_the_smallest_to_the_largest_and_denser_where_fleets_are_small() -> None:
    sizes = flavors(100, most_sizes=10).sizes
    assert sizes.dtype == np.int64 and 1 < sizes.size <= 10
    assert (sizes[0], sizes[-1]) == (1, 100)
    steps = np.diff(sizes)
    assert (np.diff(steps) >= 0).all() and steps[0] < steps[-1]


def test_nodes_are_whole_and_the_first_flavor_in_order_is_used_up_first() -> None:
    counts = flavors(3).in_order(np.array([1, 0]), np.array([1, 3]))
    assert counts.dtype == np.int64
    assert counts.tolist() == [[0, 2], [1, 1]]
