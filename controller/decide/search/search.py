"""The best fleet for a model within bounds, over all fleets, mixed ones too: exact up to TOLERANCE.

Balanced batches: cost and time of a fleet of N nodes depend on its price P and its speed S alone, and get worse with P
and better with S. First the hull of all (S, P) is walked for all N (hull.py): its best fleet is an upper bound, and its
best point, rounded or not, a lower bound for each N. What could still be better lies between the hull and the curve of
fleets that are as good as the best one found, a sliver that the flavors' reduced costs cut down to few fleets, which
are enumerated with the dominated ones left out (Nemhauser and Ullmann, 1969).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from controller.decide.limits.bounds import SLACK, Bounds, Found
from controller.decide.model.fleet_model import FleetModel
from controller.decide.search.equal_batches import best_equal
from controller.decide.search.hull import Edge, Flavors, Floats, Ints
from controller.decide.search.line import Goal, Lines, best_on
from controller.domain import SECONDS_PER_HOUR
from controller.domain.batches import Batches
from controller.domain.objective import Objective

TOLERANCE = 1e-6
"""A fleet that is better by less than this share is not looked for."""
MAX_STATES = 1_500
"""Partial fleets kept at once; of more, this many are kept evenly, and the enumeration is no proof any more."""
MAX_WORK = 100_000
"""Partial fleets looked at in one search before it ends with the best fleet so far."""
PRUNE_FROM = 64
"""Fewer partial fleets than this are not worth pruning."""
DEEPENING = (1 / 64, 1 / 8, 1.0)
"""Shares of the sliver's depth that are enumerated one after the other: a better fleet found early makes it thinner."""


def goal_of(model: FleetModel, bounds: Bounds, objective: Objective) -> Goal:
    """The bounds as numbers, in dollars per second."""
    max_usd_per_hour = math.inf if bounds.max_usd_per_hour is None else bounds.max_usd_per_hour
    return Goal(
        objective=objective,
        batch=model.tokens_per_step,
        head=model.head_usd_per_hour / SECONDS_PER_HOUR,
        max_price=(max_usd_per_hour - model.head_usd_per_hour) / SECONDS_PER_HOUR,
        max_step_s=math.inf if bounds.max_step_s is None else bounds.max_step_s,
        max_usd_per_step=math.inf if bounds.max_usd_per_step is None else bounds.max_usd_per_step,
    )


@dataclass
class _Best:
    """The best fleet so far."""

    tolerance: float
    value: float = math.inf
    counts: Ints | None = None

    def offer(self, value: float, counts: Ints) -> None:
        """Take it if it is better."""
        if value < self.value:
            self.value, self.counts = value, counts

    def is_beaten_by(self, lower_bound: float) -> bool:
        """Whether something as good as the lower bound would be worth finding."""
        return lower_bound < self.value * (1 - self.tolerance)


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
    edges, best = list(flavors.edges()), _Best(tolerance)
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
        sliver = _Sliver(flavors, goal, int(column), slopes[max(0, near - 2) : near + 3])
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


class _Sliver:
    """The fleets of one world size that could be better than the best one found."""

    def __init__(self, flavors: Flavors, goal: Goal, column: int, slopes: Floats) -> None:
        self.flavors, self.goal, self.slopes = flavors, goal, slopes
        self.work = 0
        self.size = int(flavors.sizes[column])
        self.communication_s = float(flavors.communication_s[column])
        self.slowest = float(goal.slowest(np.array([self.communication_s]))[0])

    def search(self, best: _Best, lower: float) -> bool:
        """Offer each better fleet to `best`; `lower` is below all of them. False when fleets had to be left out."""
        if math.isinf(self.slowest):
            return True
        is_complete = True
        for share in DEEPENING:
            slope, depth = self._shallowest(best.value)
            if depth < 0 or not best.is_beaten_by(lower):
                return True
            is_complete = self._enumerate(slope, depth * share, best)
            if not is_complete:
                break
        return is_complete

    def _most_usd(self, value: float) -> tuple[float, float]:
        """What a step may cost, and the least speed, of a fleet that is better than `value`."""
        if self.goal.objective is Objective.COST:
            return min(value, self.goal.max_usd_per_step), self.slowest
        room = value - self.communication_s
        faster = self.goal.batch / room if room > 0 else math.inf
        return self.goal.max_usd_per_step, max(self.slowest, faster if math.isfinite(value) else 0.0)

    def _shallowest(self, value: float) -> tuple[float, float]:
        """The slope for which the sliver is the least deep, and that depth; negative when the sliver is empty."""
        most_usd, slowest = self._most_usd(value)
        fastest = float(
            self.flavors.speeds @ self.flavors.in_order(np.argsort(-self.flavors.speeds), np.array([self.size]))[:, 0]
        )
        if slowest > fastest:
            return 0.0, -1.0
        depths = [self._depth(float(slope), most_usd, slowest, fastest) for slope in self.slopes]
        at = int(np.argmin(depths))
        return float(self.slopes[at]), depths[at]

    def _ceiling(self, speed: float, most_usd: float) -> float:
        """The highest price at this speed that is still better."""
        if math.isinf(most_usd):
            return self.goal.max_price
        return min(self.goal.max_price, most_usd / (self.goal.batch / speed + self.communication_s) - self.goal.head)

    def _depth(self, slope: float, most_usd: float, slowest: float, fastest: float) -> float:
        """How far P - slope S of a better fleet may lie above the least one: the ceiling is concave in S."""
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

    def _enumerate(self, slope: float, depth: float, best: _Best) -> bool:
        """All fleets whose P - slope S is within `depth` of the least; the best goes to `best`."""
        weights = self.flavors.prices - slope * self.flavors.speeds
        order = np.argsort(weights, kind="stable")
        base = self.flavors.in_order(order, np.array([self.size]))[:, 0]
        marginal = [flavor for flavor in order if base[flavor]][-1]
        reduced = np.abs(weights - weights[marginal])
        within = np.nonzero(reduced <= max(depth, 0.0) * (1 + SLACK))[0]
        by_cost = sorted(within, key=lambda flavor: (flavor != marginal, reduced[flavor], flavor))
        pair, others = by_cost[:2], by_cost[2:][::-1]
        states = _States(base, others)
        for flavor in others:
            states.vary(flavor, float(reduced[flavor]), depth, self.flavors)
        self._finish(states, pair, best)
        self.work += states.work
        return not states.is_thinned

    def _finish(self, states: _States, pair: list[int], best: _Best) -> None:
        """Give the nodes that are left to the last two flavors in the best way."""
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
        counts[:, fast] = least if slow != fast else total
        step = np.ones(len(counts))
        lines = Lines(
            speed=counts @ flavors.speeds,
            price=counts @ flavors.prices,
            speed_step=step * (flavors.speeds[fast] - flavors.speeds[slow]),
            price_step=step * (flavors.prices[fast] - flavors.prices[slow]),
            nodes=most - least,
            communication_s=step * self.communication_s,
        )
        steps, values, _ = best_on(lines, self.goal)
        at = int(np.argmin(values))
        if values[at] < best.value:
            found = counts[at].copy()
            found[slow] -= steps[at]
            found[fast] += steps[at]
            best.offer(float(values[at]), found)


class _States:
    """Partial fleets: what each differs by from the greedy fleet, and the reduced cost of that."""

    def __init__(self, base: Ints, others: list[int]) -> None:
        self.counts: Ints = base[None, :].copy()
        self.spent: Floats = np.zeros(1)
        self.others = others
        self.work = 0
        self.is_thinned = False

    def vary(self, flavor: int, reduced: float, depth: float, flavors: Flavors) -> None:
        """Each partial fleet with each number of nodes of one flavor that the depth allows.

        A flavor other than the marginal one is either used up in the greedy fleet or not used at all.
        """
        is_added = self.counts[0, flavor] == 0
        room = flavors.caps[flavor]
        with np.errstate(over="ignore"):
            allowed = np.floor((depth * (1 + SLACK) - self.spent) / max(reduced, 1e-300))
        choices = (np.minimum(np.maximum(allowed, 0), room) + 1).astype(np.int64)
        self._thin(max(1, MAX_STATES * len(choices) // int(choices.sum())))
        choices = choices[self.kept]
        parent = np.repeat(np.arange(len(choices)), choices)
        changed = np.arange(len(parent)) - np.repeat(np.cumsum(choices) - choices, choices)
        self.counts, self.spent = self.counts[parent], self.spent[parent] + changed * reduced
        self.counts[:, flavor] += changed if is_added else -changed
        self.work += len(parent)
        if len(parent) > PRUNE_FROM:
            self._drop_dominated(flavors)

    def _thin(self, most: int) -> None:
        """Keep this many partial fleets, evenly chosen."""
        count = len(self.spent)
        self.kept: Ints = np.arange(count)
        if count > most:
            self.is_thinned = True
            self.kept = np.linspace(0, count - 1, most).astype(np.int64)
            self.counts, self.spent = self.counts[self.kept], self.spent[self.kept]

    def _drop_dominated(self, flavors: Flavors) -> None:
        """Of partial fleets with as many nodes, keep those that no other beats in both price and speed."""
        used = self.counts[:, self.others]
        nodes, price, speed = used.sum(axis=1), used @ flavors.prices[self.others], used @ flavors.speeds[self.others]
        order = np.lexsort((-speed, price, nodes))
        nodes, speed = nodes[order], speed[order]
        # Speeds of each group are lifted above those of the groups before it, so that one running maximum serves all.
        lifted = speed + np.cumsum(np.diff(nodes, prepend=nodes[0]) > 0) * (speed.max() + 1.0)
        before = np.maximum.accumulate(np.concatenate([[-np.inf], lifted[:-1]]))
        kept = np.sort(order[lifted > before])
        self.counts, self.spent = self.counts[kept], self.spent[kept]
