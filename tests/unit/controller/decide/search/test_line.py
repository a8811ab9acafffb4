"""The best point on a line of fleets, beside all points of it, whole and broken."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from controller.decide import Objective
from controller.decide.search.line import RELAXED_SLACK, Goal, Lines, best_on

BATCH = 600.0


def goal(**changes: Any) -> Goal:
    free = dict.fromkeys(("max_price", "max_step_s", "max_usd_per_step"), math.inf)
    return Goal(**{"objective": Objective.COST, "batch": BATCH, "head": 0.0, **free, **changes})


def lines(*rows: tuple[float, float, float, float, int, float, float]) -> Lines:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    columns[4] = columns[4].astype(np.int64)
    return Lines(**{field.name: column for field, column in zip(fields(Lines), columns, strict=True)})


@pytest.mark.parametrize("objective", Objective)
def test_a_fleet_without_speed_is_worth_nothing_whatever_it_costs(objective: Objective) -> None:
    with np.errstate(all="raise"):
        values = goal(objective=objective).values(np.zeros(2), np.array([1.0, 0.0]), np.zeros(2))
    assert values.tolist() == [math.inf, math.inf]


@pytest.mark.parametrize(("bound", "value"), [("max_price", 2.0), ("max_step_s", 3.5), ("max_usd_per_step", 7.0)])
def test_a_bound_may_be_reached_and_not_passed(bound: str, value: float) -> None:
    """A step takes 3 s and waits for 0.5 s, for $2 a second."""
    fleet = np.array([200.0]), np.array([2.0]), np.array([0.5])
    assert goal(**{bound: value}).values(*fleet, slack=0.0).tolist() == [7.0]
    assert goal(**{bound: 0.99 * value}).values(*fleet, slack=0.0).tolist() == [math.inf]
    assert goal(**{bound: 0.99 * value}).values(*fleet, slack=0.02).tolist() == [7.0]


ROWS = [
    row
    for row in itertools.product(
        (100.0, 400.0),
        (1.0, 6.0),
        (0.0, 0.5, 40.0),
        (-0.5, -0.01, 0.0, 0.01, 0.5, 4.0),
        (0, 1, 9),
        (0.0, 0.5, 1.5),
        (0.0, 2.5),
    )
    if row[1] + row[3] * row[4] > 0
]
"""Speed, price, steps of both, nodes, communication, and what traffic between zones costs."""
GOALS = [
    goal(objective=objective, head=head, **limits)
    for objective, head, limits in itertools.product(
        Objective,
        (0.0, 2.0),
        (
            {},
            {"max_price": 3.0},
            {"max_step_s": 2.5},
            {"max_usd_per_step": 9.0},
            {"max_usd_per_step": 14.0},
            {"max_price": 8.0, "max_step_s": 3.0, "max_usd_per_step": 20.0},
        ),
    )
]


def values_at(all_lines: Lines, steps: Any, wanted: Goal, slack: float) -> Any:
    """What is minimised after so many steps of each line: (steps, lines)."""
    return wanted.values(
        all_lines.speed + steps * all_lines.speed_step,
        all_lines.price + steps * all_lines.price_step,
        all_lines.communication_s,
        slack,
        all_lines.traffic_usd,
    )


@pytest.mark.parametrize("wanted", GOALS, ids=str)
def test_no_whole_number_of_steps_is_better_and_no_broken_one_is_below_the_bound(wanted: Goal) -> None:
    some = lines(*ROWS)
    with np.errstate(divide="raise", invalid="raise"):
        steps, values, bounds = best_on(some, wanted)
    whole = np.arange(10.0)[:, None]
    each = np.where(whole <= some.nodes, values_at(some, whole, wanted, 1e-9), np.inf)
    assert values == pytest.approx(each.min(axis=0), rel=1e-12)
    assert ((steps >= 0) & (steps <= some.nodes)).all()
    assert np.where(np.isfinite(values), values_at(some, steps, wanted, 1e-9), np.inf) == pytest.approx(values)
    broken = np.linspace(0.0, 1.0, 4001)[:, None] * some.nodes
    least = values_at(some, broken, wanted, RELAXED_SLACK).min(axis=0)
    with np.errstate(invalid="ignore"):
        assert (bounds <= least * (1 + 1e-9)).all(), "a lower bound"
        is_known = np.isfinite(least)
        assert bounds[is_known] == pytest.approx(least[is_known], rel=2e-3), "and no lower than it has to be"
