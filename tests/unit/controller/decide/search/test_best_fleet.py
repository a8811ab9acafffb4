"""The search finds the best fleet: against brute force on small random instances, to a proven gap on big ones."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide import Batches, Objective
from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.traffic import Traffic
from controller.decide.search import best_fleet as searching
from controller.decide.search.best_fleet import TOLERANCE, best_fleet
from controller.decide.search.found import Found
from controller.decide.search.hull import Flavors
from controller.decide.search.line import best_on, goal_of
from controller.domain import Fleet


def brute_force(model: FleetModel, bounds: Bounds, objective: Objective) -> tuple[float, dict[str, int]] | None:
    """The best of all fleets, looked at one by one."""
    best = None
    names = sorted(bounds.caps)
    for counts in itertools.product(*(range(bounds.caps[name] + 1) for name in names)):
        size = sum(counts)
        if size < max(1, bounds.min_nodes) or (bounds.max_nodes is not None and size > bounds.max_nodes):
            continue
        fleet = dict(zip(names, counts, strict=True))
        step_s, usd_per_hour = model.step_time_s(fleet), model.fleet_usd_per_hour(fleet)
        usd = usd_per_hour * step_s / 3600 + model.traffic.usd_of_size(size)
        for value, most in (
            (usd_per_hour, bounds.max_usd_per_hour),
            (step_s, bounds.max_step_s),
            (usd, bounds.max_usd_per_step),
        ):
            if most is not None and value > most * (1 + 1e-9):
                break
        else:
            value = usd if objective is Objective.COST else step_s
            if best is None or value < best[0]:
                best = value, fleet
    return best


def random_instance(rng: random.Random) -> tuple[FleetModel, Bounds]:
    """A few flavors, some of them in exact proportion to each other, which is where ties are."""
    speeds, prices = {}, {}
    for name in "abcde"[: rng.randint(1, 5)]:
        speeds[name] = rng.choice([rng.uniform(10, 100), float(rng.randint(1, 4) * 10)])
        prices[name] = rng.choice([rng.uniform(0.05, 1), speeds[name] / 100, rng.randint(1, 4) / 4])
    c0, c1, c2 = (rng.choice([0.0, rng.uniform(0, 3)]) for _ in range(3))
    model = FleetModel(
        tokens_per_s=speeds,
        usd_per_hour=prices,
        tokens_per_step=rng.uniform(50, 500),
        communication_s=lambda size: c0 + c1 * math.log2(size) + 0.1 * c2 * (size - 1) if size > 1 else 0.0,
        head_usd_per_hour=rng.choice([0.0, rng.uniform(0, 0.5)]),
        batches=rng.choice([Batches.BALANCED, Batches.BALANCED, Batches.EQUAL]),
    )
    caps = {name: rng.randint(1, 4) for name in speeds}
    least = rng.randint(1, sum(caps.values()))
    most = rng.choice([None, rng.randint(least, sum(caps.values()))])
    return model, Bounds(caps, least, most)


def with_constraints(rng: random.Random, model: FleetModel, bounds: Bounds) -> Bounds:
    """The bounds with limits on dollars per hour, step time and cost that bind now and then."""
    cheapest, fastest = best_fleet(model, bounds), best_fleet(model, bounds, Objective.TIME)
    assert cheapest is not None and fastest is not None
    all_usd = sum(cap * model.usd_per_hour[name] for name, cap in bounds.caps.items())
    return Bounds(
        bounds.caps,
        bounds.min_nodes,
        bounds.max_nodes,
        max_usd_per_hour=rng.choice([None, rng.uniform(0.3, 1.0) * all_usd]),
        max_step_s=rng.choice([None, fastest.step_s * rng.uniform(0.95, 2.0)]),
        max_usd_per_step=rng.choice([None, cheapest.usd_per_step * rng.uniform(0.95, 2.0)]),
    )


def assert_same(found: Found | None, expected: tuple[float, dict[str, int]] | None, objective: Objective) -> None:
    """Both found a fleet that is as good, or both none."""
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.value(objective) == pytest.approx(expected[0], rel=1.01 * TOLERANCE)
        assert found.proven_gap <= TOLERANCE


@pytest.mark.parametrize("objective", list(Objective))
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_no_fleet_is_better_than_the_one_that_is_found(objective, seed):
    rng = random.Random(seed)
    model, bounds = random_instance(rng)
    bounds = with_constraints(rng, model, bounds)
    assert_same(best_fleet(model, bounds, objective), brute_force(model, bounds, objective), objective)


@pytest.mark.parametrize("objective", list(Objective))
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_with_traffic_between_zones_no_fleet_is_better_either(objective, seed):
    """It costs from a tenth of the nodes to ten times as much, so that larger fleets pay or do not pay."""
    rng = random.Random(seed)
    model, bounds = random_instance(rng)
    cheapest = best_fleet(model, bounds)
    assert cheapest is not None
    model = replace(model, traffic=Traffic(cheapest.usd_per_step * 10 ** rng.uniform(-1, 1), rng.randint(2, 4)))
    bounds = with_constraints(rng, model, bounds)
    assert_same(best_fleet(model, bounds, objective), brute_force(model, bounds, objective), objective)


def test_where_traffic_between_zones_is_expensive_fewer_and_larger_nodes_are_best():
    model = FleetModel({"small": 10.0, "large": 40.0}, {"small": 0.1, "large": 0.6}, 100.0, lambda size: 0.0, 0.1)
    bounds = Bounds({"small": 4, "large": 1}, 1, 4)
    free, dear = best_fleet(model, bounds), best_fleet(replace(model, traffic=Traffic(0.001, 2)), bounds)
    assert free is not None and free.fleet == Fleet({"small": 4})
    assert dear is not None and dear.fleet == Fleet({"large": 1})
    assert dear.usd_per_step == model.usd_per_step({"large": 1}), "one node has no traffic"


@pytest.mark.parametrize("seed", [7, 37, 138, 270, 474, 943])
def test_instances_that_once_went_wrong_stay_right(seed):
    for offset in range(20):
        rng = random.Random(1000 * seed + offset)
        model, bounds = random_instance(rng)
        bounds = with_constraints(rng, model, bounds)
        for objective in Objective:
            assert_same(best_fleet(model, bounds, objective), brute_force(model, bounds, objective), objective)


def test_a_mixed_fleet_can_be_best_without_any_quota():
    # Communication makes the cost along a mix of two flavors fall and rise again.
    model = FleetModel({"a": 10.0, "b": 20.0}, {"a": 0.10, "b": 0.29}, 100.0, lambda size: 0.1 * size)
    found = best_fleet(model, Bounds({"a": 8, "b": 8}, 8, 8))
    expected = brute_force(model, Bounds({"a": 8, "b": 8}, 8, 8), Objective.COST)
    assert found is not None and expected is not None
    assert found.fleet == Fleet(expected[1])


def test_the_design_notes_example_of_equal_and_balanced_batches_comes_out():
    # FACTS.md: six nodes, 1.0 s and 2.5 s per 64 samples, slow to fast one at a time, dollars per million samples.
    speeds, prices = {"slow": 64 / 2.5, "fast": 64 / 1.0}, {"slow": 0.17, "fast": 0.34}
    balanced = FleetModel(speeds, prices, 384.0, lambda size: 0.0)
    equal = FleetModel(speeds, prices, 384.0, lambda size: 0.0, batches=Batches.EQUAL)
    path = [{"slow": 6 - fast, "fast": fast} for fast in range(7)]
    by_equal = [1e6 * equal.usd_per_token(fleet) for fleet in path]
    by_balanced = [1e6 * balanced.usd_per_token(fleet) for fleet in path]
    assert by_equal == pytest.approx([1.845, 2.152, 2.459, 2.767, 3.074, 3.382, 1.476], abs=2e-3)
    assert by_balanced == pytest.approx([1.845, 1.722, 1.640, 1.581, 1.537, 1.503, 1.476], abs=2e-3)


@pytest.mark.parametrize("case", ["least cost", "deadline", "quota", "budget"])
def test_with_fifty_flavors_and_a_thousand_nodes_the_gap_to_the_best_is_proven(case):
    rng = random.Random(5)
    prices = {f"f{number}": rng.uniform(0.05, 3.0) for number in range(50)}
    speeds = {name: 30_000 * usd * math.exp(rng.gauss(0, 0.25)) for name, usd in prices.items()}
    model = FleetModel(speeds, prices, 4e6, lambda size: 0.05 + 0.02 * math.log2(size) + 5e-4 * size, 0.1)
    caps = {name: rng.choice([20, 40, 1000]) for name in prices}
    bounds = Bounds(caps, 1000 if case == "quota" else 1, 1000)
    objective = Objective.TIME if case == "budget" else Objective.COST
    cheapest, fastest = best_fleet(model, bounds), best_fleet(model, bounds, Objective.TIME)
    assert cheapest is not None and fastest is not None
    bounds = Bounds(
        caps,
        bounds.min_nodes,
        1000,
        max_step_s=math.sqrt(cheapest.step_s * fastest.step_s) if case == "deadline" else None,
        max_usd_per_step=1.5 * cheapest.usd_per_step if case == "budget" else None,
    )
    found = best_fleet(model, bounds, objective)
    assert found is not None
    assert found.proven_gap < 1e-3


def test_equal_batches_shun_a_slow_node_that_holds_up_the_others():
    speeds, prices = {"slow": 10.0, "fast": 100.0}, {"slow": 0.01, "fast": 0.5}
    bounds = Bounds({"slow": 1, "fast": 5}, 5, 6)
    equal = best_fleet(FleetModel(speeds, prices, 600.0, lambda size: 0.0, batches=Batches.EQUAL), bounds)
    assert equal is not None and equal.fleet == Fleet({"fast": 5})


def test_no_flavor_means_no_fleet():
    assert best_fleet(FleetModel({}, {}, 1.0, lambda size: 0.0), Bounds({}, 1, 6)) is None


# A search that is cut short. With these flavors, the hull alone leaves a gap for each world size.

MIXED = FleetModel(
    {"a": 10.0, "b": 21.0, "c": 35.0}, {"a": 0.10, "b": 0.22, "c": 0.52}, 100.0, lambda size: 0.05 * size, 1.0
)
SIZES = Bounds({"a": 3, "b": 2, "c": 2}, 3, 6, 2.15)


class Looks:
    """Stands in for the slivers: notes which world sizes are looked through, and finds no better fleet."""

    seen: list[int]
    works: list[int]
    is_complete = True

    def __init__(self, flavors: Flavors, goal: Any, column: int, slopes: Any) -> None:
        assert len(slopes), "a slope is needed"
        self.column, self.work = column, Looks.works.pop(0)

    def search(self, best: Any, lower: float) -> bool:
        Looks.seen.append(self.column)
        return Looks.is_complete


def hull() -> tuple[float, list[float]]:
    """The best value on the hull, and by world size the lower bound."""
    flavors = Flavors(MIXED, SIZES)
    _, values, bounds = best_on(searching._stacked([*flavors.edges()], flavors), goal_of(MIXED, SIZES, Objective.COST))
    return float(values.min()), bounds.min(axis=0).tolist()


@pytest.mark.parametrize(
    ("works", "most", "looked_at"), [([0, 0], 2, 2), ([2, 1], 2, 2), ([3, 0], 2, 1), ([9, 9], 0, 1)]
)
def test_world_sizes_are_looked_through_from_the_most_promising_until_it_is_too_much_work(
    monkeypatch: pytest.MonkeyPatch, works: list[int], most: int, looked_at: int
) -> None:
    monkeypatch.setattr(searching, "Sliver", Looks)
    monkeypatch.setattr(searching, "MAX_WORK", most)
    monkeypatch.setattr(Looks, "works", [*works], raising=False)
    monkeypatch.setattr(Looks, "seen", [], raising=False)
    value, lower = hull()
    order = [column for column in np.argsort(lower).tolist() if lower[column] < value * (1 - TOLERANCE)]
    found = best_fleet(MIXED, SIZES)
    assert found is not None and found.usd_per_step == pytest.approx(value), "the best fleet on the hull"
    assert len(order) == 2 and Looks.seen == order[:looked_at]
    left_out = order[looked_at:]
    assert found.proven_gap == pytest.approx(1 - lower[left_out[0]] / value if left_out else 0.0)


def test_a_search_that_leaves_fleets_out_says_how_much_better_they_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "Sliver", Looks)
    monkeypatch.setattr(Looks, "works", [0, 0], raising=False)
    monkeypatch.setattr(Looks, "seen", [], raising=False)
    monkeypatch.setattr(Looks, "is_complete", False)
    value, lower = hull()
    found = best_fleet(MIXED, SIZES)
    assert found is not None and found.proven_gap == pytest.approx(1 - min(lower) / value) and found.proven_gap > 0
    monkeypatch.undo()
    best = best_fleet(MIXED, SIZES)
    assert best is not None and value * (1 - found.proven_gap) <= best.usd_per_step <= value
    assert best.proven_gap == 0.0


def test_a_single_flavor_is_searched_as_well() -> None:
    found = best_fleet(FleetModel({"a": 10.0}, {"a": 0.1}, 100.0, lambda size: 0.0, 1.0), Bounds({"a": 4}, 1, None))
    assert found is not None and found.fleet == Fleet({"a": 4})


def test_where_no_fleet_keeps_the_bounds_none_is_found() -> None:
    assert best_fleet(MIXED, Bounds(SIZES.caps, 3, 6, 0.1)) is None


@pytest.mark.parametrize("batches", [Batches.EQUAL, Batches.BALANCED])
def test_of_flavors_of_the_same_price_the_faster_one_is_taken(batches: Batches) -> None:
    model = FleetModel({"a": 10.0, "b": 20.0, "c": 10.0}, dict.fromkeys("abc", 1.0), 100.0, lambda size: 0.0)
    for_a_size = best_fleet(
        FleetModel(model.tokens_per_s, model.usd_per_hour, 100.0, lambda size: 0.0, batches=batches),
        Bounds(dict.fromkeys("abc", 2), 2, 2),
    )
    assert for_a_size is not None and for_a_size.fleet == Fleet({"b": 2})


def test_work_adds_up_over_all_world_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "Sliver", Looks)
    monkeypatch.setattr(searching, "MAX_WORK", 2)
    monkeypatch.setattr(Looks, "works", [3, 0, 0, 0], raising=False)
    monkeypatch.setattr(Looks, "seen", [], raising=False)
    best_fleet(MIXED, SIZES, tolerance=-1.0)
    assert len(Looks.seen) == 1, "with this tolerance each of the four sizes would be worth a look"


def test_at_most_so_many_world_sizes_are_looked_at() -> None:
    few, each = best_fleet(MIXED, SIZES, most_sizes=1), best_fleet(MIXED, SIZES)
    assert few is not None and each is not None
    assert few.fleet.size == 3 and each.fleet.size > 3


def edges(*flavors: tuple[float, float]) -> list[tuple[int, int]]:
    """The losers and winners along the hull of two nodes of flavors with these speeds and prices."""
    speeds, prices = ({name: pair[at] for name, pair in zip("abc", flavors, strict=False)} for at in (0, 1))
    model = FleetModel(speeds, prices, 1.0, lambda size: 0.0)
    found = Flavors(model, Bounds(dict.fromkeys(speeds, 2), 2, 2)).edges()
    return [(edge.loser, edge.winner) for edge in found]


def test_the_hull_goes_by_rising_slope_however_small_the_slopes_and_the_differences_of_speed_are() -> None:
    assert edges((1e9, 0.1), (2e9, 0.2), (3e9, 0.5)) == [(0, 0), (0, 1), (1, 2)]
    assert edges((0.1, 0.1), (0.2, 0.2), (0.3, 0.5)) == [(0, 0), (0, 1), (1, 2)]


def test_of_flavors_on_one_line_the_widest_exchange_comes_first() -> None:
    assert edges((1.0, 0.1), (2.0, 0.2), (3.0, 0.3)) == [(0, 0), (0, 2)]
