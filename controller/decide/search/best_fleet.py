"""The search for the best fleet within bounds, among all fleets, mixed ones too. It is exact up to `TOLERANCE`.

With balanced batches, cost and time of a fleet of N nodes depend only on its price P and its speed S. Both get worse
with P and better with S. What the traffic between zones costs depends on N alone. First the hull of all (S, P) is
walked for all N (`hull.py`). Its best fleet is an upper bound. Its best point, rounded or not, is a lower bound for
each N. A better fleet can only lie between the hull and the curve of fleets that are as good as the best one found
(`sliver.py`). The flavors' reduced costs leave few fleets there. They are enumerated without the dominated ones
(Nemhauser and Ullmann, 1969).
"""

from __future__ import annotations

import math

import numpy as np

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search.equal_batches import best_equal
from controller.decide.search.found import Found
from controller.decide.search.hull import Edge, Flavors, Ints
from controller.decide.search.line import Goal, Lines, best_on, goal_of
from controller.decide.search.sliver import Best, Sliver
from controller.domain import SECONDS_PER_HOUR
from controller.domain.batches import Batches
from controller.domain.objective import Objective

TOLERANCE = 1e-6
"""The search does not look for a fleet that is better by less than this share."""
MAX_WORK = 100_000
"""The most partial fleets that one search looks at; then it ends with the best fleet so far."""


def best_fleet(
    model: FleetModel,
    bounds: Bounds,
    objective: Objective = Objective.COST,
    tolerance: float = TOLERANCE,
    most_sizes: int | None = None,
) -> Found | None:
    """Returns the allowed fleet with the least cost, or the least time, per step; None where no fleet is allowed.

    Args:
        model: The flavors without a speed and a price in it are not used.
        bounds: The fleets that are allowed.
        objective: What is minimised.
        tolerance: No allowed fleet is better by more than this share, or than the result's `proven_gap` if larger.
        most_sizes: The most world sizes to look at; some are left out where there are more.
    """
    flavors, goal = Flavors(model, bounds, most_sizes), goal_of(model, bounds, objective)
    if not flavors.sizes.size:
        return None
    if model.batches is Batches.EQUAL:
        counts, gap = best_equal(flavors, goal), 0.0
    else:
        counts, gap = _best_balanced(flavors, goal, tolerance)
    if counts is None:
        return None
    fleet = flavors.fleet(counts)
    step_s = model.step_time_s(fleet)
    usd = model.fleet_usd_per_hour(fleet) * step_s / SECONDS_PER_HOUR + model.traffic.usd_of_size(fleet.size)
    return Found(fleet, step_s, usd, gap)


def _best_balanced(flavors: Flavors, goal: Goal, tolerance: float) -> tuple[Ints | None, float]:
    """Returns the nodes of each flavor of the best fleet, and how much better another could still be."""
    edges, best = list(flavors.edges()), Best(tolerance)
    steps, values, bounds = best_on(_stacked(edges, flavors), goal)
    at, column = np.unravel_index(int(np.argmin(values)), values.shape)
    if np.isfinite(values[at, column]):
        best.offer(
            float(values[at, column]), flavors.counts_on(edges[: int(at) + 1], int(column), int(steps[at, column]))
        )
    lower, lowest = bounds.min(axis=0), bounds.argmin(axis=0)
    slopes = np.array([edge.price_step / edge.speed_step for edge in edges])
    work, unproven = 0, math.inf
    for column in np.argsort(lower, kind="stable"):
        if not best.is_beaten_by(float(lower[column])):
            break
        near = int(lowest[column])
        sliver = Sliver(flavors, goal, int(column), slopes[max(0, near - 2) : near + 3])
        if work > MAX_WORK or not sliver.search(best, float(lower[column])):
            unproven = min(unproven, float(lower[column]))
        work += sliver.work
    return best.counts, max(0.0, 1 - unproven / best.value)


def _stacked(edges: list[Edge], flavors: Flavors) -> Lines:
    """Returns the edges of the hull as lines: (edges, sizes)."""
    shape = (len(edges), flavors.sizes.size)
    return Lines(
        speed=np.array([edge.speed for edge in edges]),
        price=np.array([edge.price for edge in edges]),
        speed_step=np.broadcast_to(np.array([edge.speed_step for edge in edges])[:, None], shape),
        price_step=np.broadcast_to(np.array([edge.price_step for edge in edges])[:, None], shape),
        nodes=np.array([edge.nodes for edge in edges]),
        communication_s=np.broadcast_to(flavors.communication_s, shape),
        traffic_usd=np.broadcast_to(flavors.traffic_usd, shape),
    )
