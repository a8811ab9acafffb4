"""Partial fleets: what is kept of many."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from controller.decide.search import partial_fleets
from controller.decide.search.partial_fleets import MAX_STATES, PRUNE_FROM, PartialFleets

FLAVORS = SimpleNamespace(
    prices=np.array([1.0, 2.0, 4.0]), speeds=np.array([10.0, 30.0, 20.0]), caps=np.array([5, 500, 500])
)


def fleets(*rows: tuple[int, int, int]) -> PartialFleets:
    """Returns these partial fleets, each as its nodes by flavor; all but the first flavor were varied."""
    made = PartialFleets(np.zeros(3, dtype=np.int64), [1, 2])
    made.counts, made.spent = np.array(rows), np.arange(float(len(rows)))
    return made


def test_a_fleet_that_another_of_as_many_nodes_beats_in_price_and_speed_is_dropped() -> None:
    some = fleets((0, 0, 2), (0, 1, 1), (0, 2, 0), (0, 0, 1), (0, 1, 0))
    some._drop_dominated(FLAVORS)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 2, 0], [0, 1, 0]]
    assert some.spent.tolist() == [2.0, 4.0], "what was spent goes with its fleet"


def test_a_fleet_that_is_faster_for_more_money_is_kept() -> None:
    flavors = SimpleNamespace(prices=np.array([1.0, 2.0, 4.0]), speeds=np.array([10.0, 20.0, 30.0]))
    some = fleets((0, 0, 1), (0, 1, 0))
    some._drop_dominated(flavors)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_a_fleet_of_more_nodes_is_kept_though_it_is_slower() -> None:
    some = fleets((0, 1, 0), (0, 0, 0), (0, 0, 2))
    slow = SimpleNamespace(prices=FLAVORS.prices, speeds=np.array([10.0, 30.0, 0.5]))
    some._drop_dominated(slow)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 2]]


def test_nodes_that_were_not_varied_count_for_nothing() -> None:
    some = fleets((5, 1, 0), (0, 1, 0))
    some._drop_dominated(FLAVORS)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[5, 1, 0]]


def test_a_flavor_is_branched_into_every_number_that_the_depth_allows() -> None:
    some = PartialFleets(np.array([0, 0, 0]), [1, 2])
    some.vary(1, reduced=1.0, depth=3.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 3, 0]]
    assert some.spent.tolist() == [0.0, 1.0, 2.0, 3.0]
    some.vary(2, reduced=2.0, depth=3.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 2, 0], [0, 3, 0]]
    assert some.spent.tolist() == [0.0, 2.0, 1.0, 3.0, 2.0, 3.0]
    assert (some.work, some.is_thinned) == (10, False)


def test_a_flavor_that_the_greedy_fleet_uses_up_loses_nodes() -> None:
    some = PartialFleets(np.array([0, 500, 0]), [1, 2])
    some.vary(1, reduced=1.0, depth=2.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert some.counts[:, 1].tolist() == [500, 499, 498]


def test_a_flavor_without_room_is_not_branched_beyond_it() -> None:
    some = PartialFleets(np.array([0, 0, 0]), [0, 1])
    some.vary(0, reduced=0.0, depth=1.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert some.counts[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_of_more_than_can_be_kept_some_are_kept_evenly_with_the_first_and_the_last() -> None:
    some = fleets(*[(0, n, 0) for n in range(9)])
    some._thin(9)
    assert not some.is_thinned and len(some.counts) == 9
    some._thin(3)
    assert some.is_thinned and some.counts[:, 1].tolist() == [0, 4, 8]
    assert some.spent.tolist() == [0.0, 4.0, 8.0]


def test_no_more_are_kept_than_the_bound() -> None:
    some = fleets(*[(0, n, 0) for n in range(PRUNE_FROM)])
    some.vary(2, reduced=0.0, depth=100.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert some.is_thinned and some.work <= MAX_STATES


@pytest.mark.parametrize(("most", "kept"), [(12, 4), (6, 2), (3, 1), (1, 1)])
def test_before_branching_as_many_are_kept_as_have_room_after_it(
    monkeypatch: pytest.MonkeyPatch, most: int, kept: int
) -> None:
    monkeypatch.setattr(partial_fleets, "MAX_STATES", most)
    some = fleets(*[(0, n, 0) for n in range(4)])
    some.spent[:] = 0.0
    some.vary(2, reduced=1.0, depth=2.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert (some.work, some.is_thinned) == (3 * kept, kept < 4)


@pytest.mark.parametrize(("count", "kept"), [(PRUNE_FROM, PRUNE_FROM), (PRUNE_FROM + 1, 1)])
def test_only_many_are_pruned(count: int, kept: int) -> None:
    some = fleets(*[(0, 1, 0)] * count)
    some.vary(2, reduced=1.0, depth=0.0, flavors=FLAVORS)  # type: ignore[arg-type]
    assert len(some.counts) == kept


def test_of_fleets_of_the_same_price_only_the_fastest_is_kept() -> None:
    some = fleets((0, 0, 1), (0, 1, 0))
    same = SimpleNamespace(prices=np.array([1.0, 2.0, 2.0]), speeds=FLAVORS.speeds)
    some._drop_dominated(same)  # type: ignore[arg-type]
    assert some.counts.tolist() == [[0, 1, 0]]


def test_a_flavor_that_costs_nothing_more_is_varied_without_a_warning() -> None:
    some = PartialFleets(np.array([0, 0, 0]), [0, 1])
    with np.errstate(over="raise"):
        some.vary(0, reduced=0.0, depth=1e10, flavors=FLAVORS)  # type: ignore[arg-type]
    assert len(some.counts) == 6
