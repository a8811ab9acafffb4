"""The best fleet for a model within bounds, over all fleets, mixed ones too: exact up to TOLERANCE.

Balanced batches: cost and time of a fleet of N nodes depend on its price P and its speed S alone, and get worse with P
and better with S. First the hull of all (S, P) is walked for all N (hull.py): its best fleet is an upper bound, and its
best point, rounded or not, a lower bound for each N. What could still be better lies between the hull and the curve of
fleets that are as good as the best one found, a sliver that the flavors' reduced costs cut down to few fleets, which
are enumerated with the dominated ones left out (Nemhauser and Ullmann, 1969).
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
"""A fleet that is better by less than this share is not looked for."""
MAX_WORK = 100_000
"""Partial fleets looked at in one search before it ends with the best fleet so far."""


def best_fleet(
    model: FleetModel,
    bounds: Bounds,
    objective: Objective = Objective.COST,
    tolerance: float = TOLERANCE,
    most_sizes: int | None = None,
) -> Found | None:
    """The allowed fleet with the least cost, or the least time, per step; None where no fleet is allowed.

    Only flavors with a speed and a price in the model are used. No allowed fleet is better by more than `tolerance` as
    a share, or by more than the result's `proven_gap` where that is larger; unless there are more world sizes than
    `most_sizes`, of which then some are left out.
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
    return Found(fleet, step_s, model.fleet_usd_per_hour(fleet) * step_s / SECONDS_PER_HOUR, gap)


def _best_balanced(flavors: Flavors, goal: Goal, tolerance: float) -> tuple[Ints | None, float]:
    """Nodes of each flavor of the best fleet, and how much better another could still be."""
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
    return best.counts, max(0.0, 1 - unproven / best.value) if best.counts is not None else 0.0


def _stacked(edges: list[Edge], flavors: Flavors) -> Lines:
    """The stretches of the hull as lines: a row for each stretch, a column for each world size."""
    shape = (len(edges), flavors.sizes.size)
    return Lines(
        speed=np.array([edge.speed for edge in edges]),
        price=np.array([edge.price for edge in edges]),
        speed_step=np.broadcast_to(np.array([edge.speed_step for edge in edges])[:, None], shape),
        price_step=np.broadcast_to(np.array([edge.price_step for edge in edges])[:, None], shape),
        nodes=np.array([edge.nodes for edge in edges]),
        communication_s=np.broadcast_to(flavors.communication_s, shape),
    )
