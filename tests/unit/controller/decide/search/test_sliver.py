"""The fleets between the hull and the best one found: how deep that sliver is, and that each fleet in it is seen."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from controller.decide import Objective
from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search import partial_fleets
from controller.decide.search.hull import Flavors
from controller.decide.search.line import Goal
from controller.decide.search.partial_fleets import PartialFleets
from controller.decide.search.sliver import DEEPENING, Best, Sliver

SPEEDS = {"a": 100.0, "b": 200.0, "c": 300.0, "d": 350.0}
PRICES = {"a": 1.0, "b": 2.5, "c": 3.5, "d": 6.0}
"""In dollars a second: 3,600 times as much an hour."""
FAST: dict[str, Any] = {"objective": Objective.TIME}
BATCH, CAPS = 600.0, {"a": 3, "b": 3, "c": 1, "d": 2}


def sliver(
    *,
    size: int = 3,
    wait_s: float = 0.0,
    slopes: tuple[float, ...] = (0.01,),
    caps: dict[str, int] = CAPS,
    kind: type[Sliver] = Sliver,
    **goal: Any,
) -> Sliver:
    """The fleets of one size; `wait_s` is the communication of a step."""
    model = FleetModel(SPEEDS, {f: 3600 * usd for f, usd in PRICES.items()}, BATCH, lambda _: wait_s)
    wanted = {"objective": Objective.COST, "head": 0.0, "max_price": math.inf, "max_step_s": math.inf}
    made = Goal(**{"batch": BATCH, "max_usd_per_step": math.inf, **wanted, **goal})
    return kind(Flavors(model, Bounds(caps, size, size), None), made, 0, np.array(slopes))


@pytest.mark.parametrize(
    ("value", "goal", "expected"),
    [
        (0.5, {"max_usd_per_step": 0.7}, (0.5, 0.0)),
        (0.5, {"max_usd_per_step": 0.3, "max_step_s": 2.5}, (0.3, 300.0)),
        (2.5, {"objective": Objective.TIME, "max_usd_per_step": 0.7}, (0.7, 300.0)),
        (2.5, {"objective": Objective.TIME, "max_step_s": 2.0}, (math.inf, 400.0)),
        (0.5, {"objective": Objective.TIME}, (math.inf, math.inf)),
        (0.4, {"objective": Objective.TIME}, (math.inf, math.inf)),
        (math.inf, {"objective": Objective.TIME}, (math.inf, 0.0)),
        (math.inf, {"objective": Objective.TIME, "max_step_s": 2.5}, (math.inf, 300.0)),
    ],
)
def test_a_better_fleet_costs_less_or_is_faster(
    value: float, goal: dict[str, Any], expected: tuple[float, float]
) -> None:
    assert sliver(wait_s=0.5, **goal)._most_usd(value) == expected


@pytest.mark.parametrize(
    ("most_usd", "goal", "highest"),
    [
        (math.inf, {}, math.inf),
        (math.inf, {"max_price": 5.0}, 5.0),
        (10.0, {}, 4.0),
        (10.0, {"head": 1.0}, 3.0),
        (10.0, {"head": 1.0, "max_price": 2.0}, 2.0),
    ],
)
def test_a_better_fleet_is_no_more_expensive_an_hour_than_its_speed_pays_for(
    most_usd: float, goal: dict[str, Any], highest: float
) -> None:
    assert sliver(wait_s=0.5, **goal)._ceiling(300.0, most_usd) == pytest.approx(highest)


FASTEST = 2 * 350.0 + 300.0


@pytest.mark.parametrize(
    ("slope", "wait_s", "most_usd", "max_price", "head", "slowest"),
    [
        *itertools.product((0.0, 0.004, 0.02, 1.5), (0.0, 0.5, 2.0), (6.0, 12.0), (math.inf, 6.0), (0.5,), (0.0, 300)),
        *itertools.product((0.004, 0.02), (0.0, 0.5), (math.inf,), (6.0,), (0.0, 0.5), (0.0, 300.0)),
        (0.02, 0.5, 4.0, 6.0, 2.0, 300.0),
        (0.0, 0.5, 3.25, 6.0, 0.5, 300.0),
        (0.02, 0.2, 12.0, 8.5, 0.5, 200.0),
        (0.004, 0.2, 9.0, 8.5, 0.5, 200.0),
    ],
)
def test_the_sliver_is_as_deep_as_its_deepest_place(
    slope: float, wait_s: float, most_usd: float, max_price: float, head: float, slowest: float
) -> None:
    one = sliver(wait_s=wait_s, max_price=max_price, head=head)
    speeds = np.linspace(max(slowest, 1e-9), FASTEST, 20_001)
    highest = max(one._ceiling(float(speed), most_usd) - slope * speed for speed in speeds)
    weights = [
        sum(count * (PRICES[f] - slope * SPEEDS[f]) for f, count in zip("abcd", counts, strict=True))
        for counts in itertools.product(*(range(cap + 1) for cap in CAPS.values()))
        if sum(counts) == one.size
    ]
    assert one._depth(slope, most_usd, slowest, FASTEST) == pytest.approx(highest - min(weights), abs=2e-3)


def test_the_slope_of_the_shallowest_sliver_is_taken() -> None:
    one = sliver(slopes=(0.0, 0.02, 0.01, 0.05))
    depths = [one._depth(slope, 12.0, 0.0, FASTEST) for slope in one.slopes]
    slope, depth = one._shallowest(12.0)
    assert depth == min(depths) and slope == one.slopes[depths.index(depth)]


def test_a_sliver_is_empty_where_no_fleet_is_fast_enough() -> None:
    assert sliver(max_step_s=BATCH / FASTEST * 0.999)._shallowest(12.0) == (0.0, -1.0)
    just = sliver(max_step_s=BATCH / FASTEST)
    assert just.slowest == FASTEST and just._shallowest(12.0)[1] >= 0, "the fastest fleet alone"


class Recording(Sliver):
    """Looks at no fleet, and notes how it would."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[Any] = []

    def _finish(self, states: PartialFleets, pair: list[int], best: Best) -> None:
        self.seen.append((pair, states.others, states.counts.tolist()))


class Depths(Recording):
    """Notes how deep it would look."""

    def _enumerate(self, slope: float, depth: float, best: Best) -> bool:
        self.seen.append((slope, depth))
        return True


def seen(one: Sliver) -> list[Any]:
    assert isinstance(one, Recording)
    return one.seen


def test_the_sliver_is_looked_through_in_parts_each_deeper_than_the_one_before() -> None:
    one = sliver(kind=Depths)
    slope, depth = one._shallowest(12.0)
    assert one.search(Best(1e-6, 12.0), 6.0)
    assert seen(one) == [(slope, depth * share) for share in DEEPENING]


@pytest.mark.parametrize(
    ("goal", "lower"),
    [({"max_step_s": 0.5, "wait_s": 0.5}, 6.0), ({"max_step_s": 0.55}, 6.0), ({}, 12.0), ({}, 12.0 * (1 - 1e-7))],
    ids=["the network takes all of the time", "no fleet is fast enough", "no better fleet", "hardly a better fleet"],
)
def test_where_no_fleet_can_be_better_none_is_looked_at(goal: dict[str, Any], lower: float) -> None:
    one = sliver(kind=Depths, **goal)
    assert one.search(Best(1e-6, 12.0), lower) is True
    assert seen(one) == []


# With a slope of 0.01, the flavors weigh 0, 0.5, 0.5 and 2.5 dollars a second.


@pytest.mark.parametrize(
    ("depth", "size", "pair", "others", "rows"),
    [
        (0.0, 3, [0], [], [[3, 0, 0, 0]]),
        (-1.0, 3, [0], [], [[3, 0, 0, 0]]),
        (0.49, 3, [0], [], [[3, 0, 0, 0]]),
        (0.5, 3, [0, 1], [2], [[3, 0, 0, 0], [3, 0, 1, 0]]),
        (2.4, 3, [0, 1], [2], [[3, 0, 0, 0], [3, 0, 1, 0]]),
        (2.5, 3, [0, 1], [3, 2], [[3, 0, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1]]),
        (0.0, 5, [1, 2], [], [[3, 2, 0, 0]]),
        (0.5, 5, [1, 2], [0], [[3, 2, 0, 0], [2, 2, 0, 0]]),
    ],
)
def test_flavors_whose_nodes_fit_into_the_depth_are_varied_the_most_expensive_first(
    depth: float, size: int, pair: list[int], others: list[int], rows: list[list[int]]
) -> None:
    one = sliver(kind=Recording, size=size)
    assert one._enumerate(0.01, depth, Best(1e-6)) is True
    assert seen(one) == [(pair, others, rows)]


def test_the_work_of_all_looks_is_counted() -> None:
    one = sliver(kind=Recording)
    assert one.work == 0
    one._enumerate(0.01, 2.5, Best(1e-6))
    first = one.work
    one._enumerate(0.01, 2.5, Best(1e-6))
    assert (first, one.work) == (5, 10), "two partial fleets, and then three"


def test_fleets_that_were_left_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_fleets, "MAX_STATES", 2)
    assert sliver(**FAST, max_price=15.5).search(Best(1e-6), 0.01) is False


# What is left is given to the last two flavors


def finished(
    rows: list[list[int]], pair: list[int], caps: dict[str, int] = CAPS, size: int = 3, **goal: Any
) -> tuple[float, list[int] | None]:
    one, best = sliver(caps=caps, size=size, **goal), Best(1e-6)
    states = PartialFleets(np.zeros(4, dtype=np.int64), [])
    states.counts = np.array(rows)
    one._finish(states, pair, best)
    return best.value, None if best.counts is None else best.counts.tolist()


@pytest.mark.parametrize(
    ("rows", "pair", "goal", "counts"),
    [
        ([[0, 0, 0, 0]], [0, 1], FAST, [0, 3, 0, 0]),
        ([[0, 0, 0, 0]], [1, 0], FAST, [0, 3, 0, 0]),
        ([[0, 0, 0, 0]], [0, 1], {}, [3, 0, 0, 0]),
        ([[9, 9, 1, 0]], [0, 1], FAST, [0, 2, 1, 0]),
        ([[0, 0, 0, 0]], [0, 3], FAST, [1, 0, 0, 2]),
        ([[0, 0, 1, 2]], [0, 1], FAST, [0, 0, 1, 2]),
        ([[0, 0, 1, 2], [0, 0, 1, 3]], [0, 1], FAST, [0, 0, 1, 2]),
        ([[0, 0, 0, 0]], [2, 3], FAST, [0, 0, 1, 2]),
        ([[0, 0, 1, 1], [0, 0, 0, 1]], [1], FAST, [0, 1, 1, 1]),
        ([[0, 0, 1, 2]], [1], FAST, [0, 0, 1, 2]),
        ([[0, 0, 1, 3]], [1], FAST, None),
        ([[0, 0, 0, 0]], [1], FAST, [0, 3, 0, 0]),
        ([[0, 0, 0, 0]], [3], FAST, None),
        ([[0, 0, 0, 0], [1, 0, 0, 0]], [3], FAST, [1, 0, 0, 2]),
        ([[0, 0, 0, 0]], [2], FAST, None),
        ([[0, 0, 0, 3]], [2], FAST, [0, 0, 0, 3]),
    ],
)
def test_the_nodes_that_are_left_go_to_the_last_flavors_in_the_best_way(
    rows: list[list[int]], pair: list[int], goal: dict[str, Any], counts: list[int] | None
) -> None:
    value, found = finished(rows, pair, **goal)
    assert found == counts
    if counts is not None:
        speed = np.array(list(SPEEDS.values())) @ counts
        price = np.array(list(PRICES.values())) @ counts
        assert value == pytest.approx(BATCH / speed * (1.0 if goal else price))


@pytest.mark.parametrize(
    ("other", "pair", "counts"),
    [([0, 1, 0, 0], [0, 2], [3, 1, 1, 0]), ([0, 2, 0, 0], [2, 3], [0, 2, 1, 2])],
    ids=["slow ones", "fast ones"],
)
def test_where_the_last_flavors_have_no_room_for_what_is_left_there_is_no_fleet(
    other: list[int], pair: list[int], counts: list[int]
) -> None:
    assert finished([[0, 0, 0, 0], other], pair, size=5, **FAST)[1] == counts


def test_a_best_fleet_is_only_replaced_by_a_better_one() -> None:
    best = Best(1e-6, 2.0, np.array([1]))
    best.offer(2.0, np.array([2]))
    assert best.counts is not None and best.counts.tolist() == [1]
    best.offer(1.0, np.array([3]))
    assert (best.value, best.counts.tolist()) == (1.0, [3])


def test_a_fleet_is_worth_finding_if_it_is_better_by_more_than_the_tolerance() -> None:
    assert Best(0.1, 10.0).is_beaten_by(8.9) and not Best(0.1, 10.0).is_beaten_by(9.0)
