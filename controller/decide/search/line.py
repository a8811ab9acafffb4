"""The best point on a line of fleets, along which one node after another changes from one flavor to another.

Along it price and speed change in equal steps, P = a + b S, and the cost of a step is a B / S + b t S and a constant,
which falls to its least at S = sqrt(a B / (b t)) and rises after it. The traffic between zones is a part of the
constant, as all fleets on a line have the same number of nodes. All functions take arrays, one entry a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from controller.decide.limits.bounds import SLACK, Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search.hull import Floats, Ints
from controller.domain import SECONDS_PER_HOUR
from controller.domain.objective import Objective

RELAXED_SLACK = 1e-7
"""Relative room for rounding in lower bounds, which must not exclude any fleet."""


@dataclass(frozen=True)
class Goal:
    """What a search minimises, and its bounds on price, step time and cost; a bound that does not exist is infinite."""

    objective: Objective
    batch: float
    """Tokens per step."""
    head: float
    """Dollars per second of the head."""
    max_price: float
    """Dollars per second of the fleet, without the head."""
    max_step_s: float
    max_usd_per_step: float

    def slowest(self, communication_s: Floats) -> Floats:
        """Returns the least speed that keeps the step within its time; inf where communication alone takes longer."""
        room = self.max_step_s - communication_s
        with np.errstate(divide="ignore"):
            return np.where(room > 0, self.batch / room, np.inf)

    def values(
        self,
        speed: Floats,
        price: Floats,
        communication_s: Floats,
        slack: float = SLACK,
        traffic_usd: Floats | float = 0.0,
    ) -> Floats:
        """Returns what is minimised, dollars or seconds per step; inf where a bound is broken by more than `slack`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            step_s = self.batch / speed + communication_s
            usd = (price + self.head) * step_s + traffic_usd
        value = usd if self.objective is Objective.COST else step_s
        allowed = (
            np.isfinite(price)
            & (price <= self.max_price * (1 + slack))
            & (step_s <= self.max_step_s * (1 + slack))
            & (usd <= self.max_usd_per_step * (1 + slack))
        )
        return np.where(allowed, value, np.inf)


def goal_of(model: FleetModel, bounds: Bounds, objective: Objective) -> Goal:
    """Returns the goal of a search within bounds, in dollars per second."""
    max_usd_per_hour = math.inf if bounds.max_usd_per_hour is None else bounds.max_usd_per_hour
    return Goal(
        objective=objective,
        batch=model.tokens_per_step,
        head=model.head_usd_per_hour / SECONDS_PER_HOUR,
        max_price=(max_usd_per_hour - model.head_usd_per_hour) / SECONDS_PER_HOUR,
        max_step_s=math.inf if bounds.max_step_s is None else bounds.max_step_s,
        max_usd_per_step=math.inf if bounds.max_usd_per_step is None else bounds.max_usd_per_step,
    )


@dataclass(frozen=True)
class Lines:
    """Lines of fleets: from (speed, price), `nodes` steps. A step must not make the fleet slower."""

    speed: Floats
    price: Floats
    speed_step: Floats
    price_step: Floats
    nodes: Ints
    communication_s: Floats
    traffic_usd: Floats | float = 0.0
    """Dollars of a step that depend on the number of nodes alone."""


def _range(lines: Lines, goal: Goal) -> tuple[Floats, Floats]:
    """Returns the stretch of each line that keeps price and step time within their bounds, in steps, not rounded.

    A line whose price falls has no bound on its price: its last point is its cheapest and its fastest.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        for_speed = (goal.slowest(lines.communication_s) - lines.speed) / lines.speed_step
        for_price = (goal.max_price - lines.price) / lines.price_step
    low = np.maximum(0.0, np.where(np.isnan(for_speed), 0.0, for_speed))
    high = np.where(lines.price_step > 0, for_price, np.inf)
    return low, np.minimum(high, lines.nodes)


def _wanted(lines: Lines, goal: Goal) -> Floats:
    """Returns where each line is best if it had no bounds on price and speed, in steps, not rounded.

    A line along which price or speed stays the same, or the price falls, is best at one of its ends.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = lines.price_step / lines.speed_step
        offset = lines.price + goal.head - slope * lines.speed
        drag = slope * lines.communication_s
        if goal.objective is Objective.COST:
            speed = np.where(offset > 0, np.sqrt(np.maximum(offset, 0.0) * goal.batch / drag), -np.inf)
        elif np.isinf(goal.max_usd_per_step):
            speed = np.full_like(offset, np.inf)
        else:
            linear = slope * goal.batch + offset * lines.communication_s + lines.traffic_usd - goal.max_usd_per_step
            root = np.sqrt(np.maximum(linear**2 - 4 * drag * offset * goal.batch, 0.0))
            without_drag = np.where((offset < 0) & (linear > 0), -offset * goal.batch / linear, np.inf)
            speed = np.where(drag > 0, (root - linear) / (2 * drag), without_drag)
        wanted = (speed - lines.speed) / lines.speed_step
    rises = (lines.price_step > 0) & (lines.speed_step > 0)
    return np.where(rises, wanted, 0.0)


def best_on(lines: Lines, goal: Goal) -> tuple[Ints, Floats, Floats]:
    """Returns for each line the best whole number of steps, its value, and a lower bound of the values on the line.

    Values are inf where the line has no point within the bounds.
    """
    low, high = _range(lines, goal)
    wanted = np.clip(_wanted(lines, goal), low, np.maximum(low, high))
    with np.errstate(invalid="ignore"):
        speed, price = lines.speed + wanted * lines.speed_step, lines.price + wanted * lines.price_step
    relaxed = goal.values(speed, price, lines.communication_s, RELAXED_SLACK, lines.traffic_usd)
    relaxed = np.where(low <= high * (1 + SLACK) + SLACK, relaxed, np.inf)
    best_steps = np.zeros(lines.speed.shape, dtype=np.int64)
    best_value = np.full(lines.speed.shape, np.inf)
    ends = (np.ceil(low - SLACK), np.floor(high + SLACK))
    around = np.floor(np.where(np.isfinite(wanted), wanted, 0.0))
    for candidate in (*ends, around - 1, around, around + 1):
        steps = np.where(np.isfinite(candidate), np.clip(candidate, 0, lines.nodes), 0).astype(np.int64)
        value = goal.values(
            lines.speed + steps * lines.speed_step,
            lines.price + steps * lines.price_step,
            lines.communication_s,
            traffic_usd=lines.traffic_usd,
        )
        better = value < best_value
        best_steps, best_value = np.where(better, steps, best_steps), np.where(better, value, best_value)
    return best_steps, best_value, np.minimum(relaxed, best_value)
