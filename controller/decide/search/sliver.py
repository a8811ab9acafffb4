"""The fleets of one world size that could be better than the best one found: a sliver between hull and best value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from controller.decide.limits.bounds import SLACK
from controller.decide.search.hull import Flavors, Floats, Ints
from controller.decide.search.line import Goal, Lines, best_on
from controller.decide.search.partial_fleets import PartialFleets
from controller.domain.objective import Objective

DEEPENING = (1 / 64, 1 / 8, 1.0)
"""Shares of the sliver's depth that are enumerated one after the other: a better fleet found early makes it thinner."""


@dataclass
class Best:
    """The best fleet so far."""

    tolerance: float
    value: float = math.inf
    counts: Ints | None = None

    def offer(self, value: float, counts: Ints) -> None:
        """Takes a fleet if it is better."""
        if value < self.value:
            self.value, self.counts = value, counts

    def is_beaten_by(self, lower_bound: float) -> bool:
        """Tells whether a fleet as good as the lower bound is worth finding."""
        return lower_bound < self.value * (1 - self.tolerance)


class Sliver:
    """The fleets of one world size that could be better than the best one found."""

    def __init__(self, flavors: Flavors, goal: Goal, column: int, slopes: Floats) -> None:
        self.flavors, self.goal, self.slopes = flavors, goal, slopes
        self.work = 0
        self.size = int(flavors.sizes[column])
        self.communication_s = float(flavors.communication_s[column])
        self.traffic_usd = float(flavors.traffic_usd[column])
        self.slowest = float(goal.slowest(np.array([self.communication_s]))[0])

    def search(self, best: Best, lower: float) -> bool:
        """Offers each better fleet to `best`; `lower` is below all of them. Returns False when fleets were left out."""
        if math.isinf(self.slowest):
            return True
        for share in DEEPENING:
            slope, depth = self._shallowest(best.value)
            if depth < 0 or not best.is_beaten_by(lower):
                return True
            if not self._enumerate(slope, depth * share, best):
                return False
        return True

    def _most_usd(self, value: float) -> tuple[float, float]:
        """Returns the most that nodes may cost in a step, and the least speed, of a fleet that is better than `value`.

        What traffic between zones costs is taken off, since it is the same for all of them.
        """
        if self.goal.objective is Objective.COST:
            return min(value, self.goal.max_usd_per_step) - self.traffic_usd, self.slowest
        room = value - self.communication_s
        faster = self.goal.batch / room if room > 0 else math.inf
        return self.goal.max_usd_per_step - self.traffic_usd, max(self.slowest, faster)

    def _shallowest(self, value: float) -> tuple[float, float]:
        """Returns the slope for which the sliver is the least deep, and that depth; negative for an empty sliver."""
        most_usd, slowest = self._most_usd(value)
        fastest = float(
            self.flavors.speeds @ self.flavors.in_order(np.argsort(-self.flavors.speeds), np.array([self.size]))[:, 0]
        )
        if slowest > fastest or most_usd < 0:
            return 0.0, -1.0
        depths = [self._depth(float(slope), most_usd, slowest, fastest) for slope in self.slopes]
        at = int(np.argmin(depths))
        return float(self.slopes[at]), depths[at]

    def _ceiling(self, speed: float, most_usd: float) -> float:
        """Returns the highest price at this speed that is still better."""
        if math.isinf(most_usd):
            return self.goal.max_price
        return min(self.goal.max_price, most_usd / (self.goal.batch / speed + self.communication_s) - self.goal.head)

    def _depth(self, slope: float, most_usd: float, slowest: float, fastest: float) -> float:
        """Returns how far P - slope S of a better fleet may lie above the least one: the ceiling is concave in S."""
        batch, wait_s = self.goal.batch, self.communication_s
        speeds = [max(slowest, 1e-12 * fastest), fastest]
        if math.isfinite(most_usd) and wait_s > 0:
            if slope > 0:
                speeds.append((math.sqrt(most_usd * batch / slope) - batch) / wait_s)
            if math.isfinite(self.goal.max_price):
                room = most_usd / (self.goal.max_price + self.goal.head) - wait_s
                speeds.append(batch / room if room > 0 else fastest)
        elif math.isfinite(most_usd) and math.isfinite(self.goal.max_price):
            speeds.append(batch * (self.goal.max_price + self.goal.head) / most_usd)
        inside = [min(max(speed, speeds[0]), fastest) for speed in speeds]
        highest = max(self._ceiling(speed, most_usd) - slope * speed for speed in inside)
        weights = self.flavors.prices - slope * self.flavors.speeds
        least = float(weights @ self.flavors.in_order(np.argsort(weights), np.array([self.size]))[:, 0])
        return highest - least

    def _enumerate(self, slope: float, depth: float, best: Best) -> bool:
        """Looks at all fleets whose P - slope S is within `depth` of the least, and offers the best of them."""
        weights = self.flavors.prices - slope * self.flavors.speeds
        order = np.argsort(weights, kind="stable")
        base = self.flavors.in_order(order, np.array([self.size]))[:, 0]
        marginal = [flavor for flavor in order if base[flavor]][-1]
        reduced = np.abs(weights - weights[marginal])
        within = np.nonzero(reduced <= max(depth, 0.0) * (1 + SLACK))[0]
        by_cost = sorted(within, key=lambda flavor: (flavor != marginal, reduced[flavor], flavor))
        pair, others = by_cost[:2], by_cost[2:][::-1]
        states = PartialFleets(base, others)
        for flavor in others:
            states.vary(flavor, float(reduced[flavor]), depth, self.flavors)
        self._finish(states, pair, best)
        self.work += states.work
        return not states.is_thinned

    def _finish(self, states: PartialFleets, pair: list[int], best: Best) -> None:
        """Gives the nodes that are left to the last two flavors in the best way."""
        flavors = self.flavors
        slow = min(pair, key=lambda f: (flavors.speeds[f], -flavors.prices[f]))
        fast = pair[0] if pair[-1] == slow else pair[-1]
        counts = states.counts
        total = self.size - (counts.sum(axis=1) - counts[:, pair].sum(axis=1))
        if slow == fast:
            least, most = total, total
            fits = (total >= 0) & (total <= flavors.caps[slow])
        else:
            least = np.maximum(0, total - flavors.caps[slow])
            most = np.minimum(flavors.caps[fast], total)
            fits = (total >= 0) & (least <= most)
        if not fits.any():
            return
        counts, least, most, total = counts[fits], least[fits], most[fits], total[fits]
        counts[:, slow] = total - least
        counts[:, fast] = least
        step = np.ones(len(counts))
        lines = Lines(
            speed=counts @ flavors.speeds,
            price=counts @ flavors.prices,
            speed_step=step * (flavors.speeds[fast] - flavors.speeds[slow]),
            price_step=step * (flavors.prices[fast] - flavors.prices[slow]),
            nodes=most - least,
            communication_s=step * self.communication_s,
            traffic_usd=self.traffic_usd,
        )
        steps, values, _ = best_on(lines, self.goal)
        at = int(np.argmin(values))
        found = counts[at].copy()
        found[slow] -= steps[at]
        found[fast] += steps[at]
        best.offer(float(values[at]), found)
