"""The best fleet for a model within bounds: over all fleets, mixed ones too.

For one world size N a fleet matters only by its price P and its speed S, both sums over nodes. Cost per step is
(P + head) (B / S + t(N)). The fleets with the least P - lambda S for some lambda form the lower hull of all (S, P);
since the only coupling is the number of nodes, two neighbouring corners of the hull differ by nodes of one flavor that
become nodes of another, one at a time, so that the whole hull is walked by exchanging pairs of flavors in order of
their slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.decide.model import FleetModel
from controller.domain import SECONDS_PER_HOUR, Fleet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLACK = 1e-9
"""Relative room for rounding where a fleet is held against a bound."""


@dataclass(frozen=True)
class Bounds:
    """Which fleets are allowed."""

    caps: Mapping[str, int]
    """The most nodes of each flavor that may be used; flavors that are missing may not be used at all."""
    min_nodes: int = 1
    max_nodes: int | None = None
    max_usd_per_hour: float | None = None
    """Of the fleet and the head."""
    max_step_s: float | None = None
    """What a deadline leaves for a step."""
    max_usd_per_step: float | None = None
    """What a budget leaves for a step, in dollars."""

    @property
    def sizes(self) -> range:
        """The world sizes that caps and limits leave."""
        most = sum(self.caps.values())
        return range(max(1, self.min_nodes), min(most, most if self.max_nodes is None else self.max_nodes) + 1)


@dataclass(frozen=True)
class Edge:
    """A stretch of the hull, for every world size: from (speed, price) in `nodes` whole exchanges of one node."""

    loser: int
    winner: int
    speed: Floats
    price: Floats
    nodes: Ints
    speed_step: float
    price_step: float
    start: Ints
    """Nodes of each flavor (rows) for each world size (columns) where the stretch begins."""


class Hull:
    """The flavors of a model as arrays, and the walk along the hull for all world sizes at once."""

    def __init__(self, model: FleetModel, bounds: Bounds) -> None:
        self.names = sorted(
            f for f, cap in bounds.caps.items() if cap > 0 and f in model.tokens_per_s and f in model.usd_per_hour
        )
        usable = Bounds({f: bounds.caps[f] for f in self.names}, bounds.min_nodes, bounds.max_nodes)
        self.sizes: Ints = np.array(usable.sizes, dtype=np.int64)
        most = int(self.sizes[-1]) if self.sizes.size else 0
        self.caps: Ints = np.array([min(bounds.caps[f], most) for f in self.names], dtype=np.int64)
        self.speeds: Floats = np.array([model.tokens_per_s[f] for f in self.names])
        self.prices: Floats = np.array([model.usd_per_hour[f] for f in self.names])
        self.communication_s: Floats = np.array([model.communication_s(int(size)) for size in self.sizes])

    def fleet(self, counts: Ints) -> Fleet:
        """The fleet with these numbers of nodes."""
        return Fleet({name: int(count) for name, count in zip(self.names, counts) if count})

    def _cheapest(self) -> Ints:
        """For each world size the fleet with the least price, the faster flavor first where prices are equal."""
        counts = np.zeros((len(self.names), self.sizes.size), dtype=np.int64)
        left = self.sizes.copy()
        for flavor in np.lexsort((-self.speeds, self.prices)):
            counts[flavor] = np.minimum(left, self.caps[flavor])
            left = left - counts[flavor]
        return counts

    def edges(self) -> Iterator[Edge]:
        """The hull from the cheapest fleets to the fastest, by rising slope. A stretch without length opens it."""
        counts = self._cheapest()
        speed, price = self.speeds @ counts, self.prices @ counts
        yield Edge(0, 0, speed, price, np.zeros_like(self.sizes), 1.0, 0.0, counts.copy())
        faster = self.speeds[None, :] - self.speeds[:, None]
        dearer = self.prices[None, :] - self.prices[:, None]
        losers, winners = np.nonzero((faster > 0) & (dearer >= 0))
        order = np.argsort(dearer[losers, winners] / faster[losers, winners], kind="stable")
        for loser, winner in zip(losers[order], winners[order]):
            nodes = np.minimum(counts[loser], self.caps[winner] - counts[winner])
            if not nodes.any():
                continue
            speed_step, price_step = float(faster[loser, winner]), float(dearer[loser, winner])
            yield Edge(int(loser), int(winner), speed, price, nodes, speed_step, price_step, counts.copy())
            counts[loser] -= nodes
            counts[winner] += nodes
            speed, price = speed + nodes * speed_step, price + nodes * price_step


@dataclass(frozen=True)
class Found:
    """A fleet and its step: seconds, and dollars."""

    fleet: Fleet
    step_s: float
    usd_per_step: float


def _edge_optimum(edge: Edge, hull: Hull, head: float, batch: float) -> Floats:
    """Where on each stretch the cost per step is least, in exchanges, not rounded.

    With P = a + b S the cost is a B / S + b t S + a constant, least at S = sqrt(a B / (b t)).
    """
    slope = edge.price_step / edge.speed_step
    offset = edge.price + head - slope * edge.speed
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt(np.maximum(offset, 0.0) * batch / (slope * hull.communication_s))
    best = np.where(np.isnan(best), np.inf, best)
    return np.clip((best - edge.speed) / edge.speed_step, 0, edge.nodes)


def cheapest(model: FleetModel, bounds: Bounds) -> Found | None:
    """The fleet with the least cost per step within the bounds; None where they admit none."""
    hull = Hull(model, bounds)
    if not hull.sizes.size:
        return None
    batch, head = model.tokens_per_step, model.head_usd_per_hour
    best: tuple[float, Ints] | None = None
    for edge in hull.edges():
        optimum = _edge_optimum(edge, hull, head, batch)
        for steps in (np.floor(optimum), np.ceil(optimum)):
            step_s = batch / (edge.speed + steps * edge.speed_step) + hull.communication_s
            usd = (edge.price + steps * edge.price_step + head) * step_s
            at = int(np.argmin(usd))
            if best is None or usd[at] < best[0]:
                counts = edge.start[:, at].copy()
                counts[edge.loser] -= int(steps[at])
                counts[edge.winner] += int(steps[at])
                best = (float(usd[at]), counts)
    if best is None:
        return None
    fleet = hull.fleet(best[1])
    step_s = model.step_time_s(fleet)
    return Found(fleet, step_s, model.fleet_usd_per_hour(fleet) * step_s / SECONDS_PER_HOUR)
