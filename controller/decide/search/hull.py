"""The convex hull of all fleets in price and speed, for all world sizes at once.

For one world size N a fleet matters only by its price P and its speed S, both sums over nodes. The fleets with the
least P - lambda S for some lambda >= 0 form the lower right hull of all (S, P). The only coupling between flavors is
the number of nodes, so two neighbouring corners differ by nodes of one flavor that become nodes of another, one at a
time: the whole hull is walked by exchanging pairs of flavors in order of their slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.domain import SECONDS_PER_HOUR, Fleet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Edge:
    """An edge of the hull for every world size: from (speed, price), `nodes` losers become winners."""

    loser: int
    winner: int
    speed: Floats
    price: Floats
    nodes: Ints
    speed_step: float
    price_step: float


class Flavors:
    """The flavors that bounds allow and a model knows, as arrays. Prices are in dollars per second.

    At most `most_sizes` world sizes are looked at. They lie closer to each other where fleets are small.
    """

    def __init__(self, model: FleetModel, bounds: Bounds, most_sizes: int | None = None) -> None:
        self.names = sorted(
            f for f, cap in bounds.caps.items() if cap > 0 and f in model.tokens_per_s and f in model.usd_per_hour
        )
        usable = Bounds({f: bounds.caps[f] for f in self.names}, bounds.min_nodes, bounds.max_nodes)
        self.sizes: Ints = np.array(usable.sizes, dtype=np.int64)
        if most_sizes is not None and self.sizes.size > most_sizes:
            some = np.geomspace(self.sizes[0], self.sizes[-1], most_sizes)
            self.sizes = np.unique(np.rint(some).astype(np.int64))
        most = int(self.sizes[-1]) if self.sizes.size else 0
        self.caps: Ints = np.array([min(bounds.caps[f], most) for f in self.names], dtype=np.int64)
        self.speeds: Floats = np.array([model.tokens_per_s[f] for f in self.names])
        self.prices: Floats = np.array([model.usd_per_hour[f] for f in self.names]) / SECONDS_PER_HOUR
        sizes = self.sizes.tolist()
        self.communication_s: Floats = np.array([model.communication_s(size) for size in sizes])
        self.traffic_usd: Floats = (
            np.zeros(len(sizes))
            if model.traffic.is_free
            else np.array([model.traffic.usd_of_size(size) for size in sizes])
        )

    def fleet(self, counts: Ints) -> Fleet:
        """Returns the fleet with these numbers of nodes."""
        return Fleet({name: int(count) for name, count in zip(self.names, counts, strict=True) if count})

    def in_order(self, order: Ints, sizes: Ints) -> Ints:
        """Returns the nodes of each flavor for each size when flavors are used up in this order: (flavors, sizes)."""
        counts = np.zeros((len(self.names), sizes.size), dtype=np.int64)
        left = sizes.copy()
        for flavor in order:
            counts[flavor] = np.minimum(left, self.caps[flavor])
            left = left - counts[flavor]
        return counts

    def _cheapest(self, sizes: Ints) -> Ints:
        """Returns the nodes of the cheapest fleets of these sizes, where the hull begins: (flavors, sizes)."""
        return self.in_order(np.lexsort((-self.speeds, self.prices)), sizes)

    def counts_on(self, edges: Sequence[Edge], column: int, exchanged: int) -> Ints:
        """Returns the nodes of each flavor, for one world size, after `exchanged` nodes of the last edge."""
        counts = self._cheapest(self.sizes[column : column + 1])[:, 0]
        for edge in edges:
            nodes = exchanged if edge is edges[-1] else int(edge.nodes[column])
            counts[edge.loser] -= nodes
            counts[edge.winner] += nodes
        return counts

    def edges(self) -> Iterator[Edge]:
        """Yields the edges from the cheapest fleets to the fastest, by rising slope. The first edge has no length."""
        counts = self._cheapest(self.sizes)
        speed, price = self.speeds @ counts, self.prices @ counts
        yield Edge(0, 0, speed, price, np.zeros_like(self.sizes), 1.0, 0.0)
        faster = self.speeds[None, :] - self.speeds[:, None]
        extra = self.prices[None, :] - self.prices[:, None]
        losers, winners = np.nonzero((faster > 0) & (extra >= 0))
        slopes = extra[losers, winners] / faster[losers, winners]
        # Slopes are rounded so that flavors on one line count as such: of those the widest exchange must come first.
        rounded = np.round(slopes / max(float(slopes.max(initial=0.0)), 1e-300), 12)
        order = np.lexsort((-faster[losers, winners], rounded))
        for loser, winner in zip(losers[order], winners[order], strict=True):
            nodes: Ints = np.minimum(counts[loser], self.caps[winner] - counts[winner])
            if not nodes.any():
                continue
            speed_step, price_step = float(faster[loser, winner]), float(extra[loser, winner])
            yield Edge(int(loser), int(winner), speed, price, nodes, speed_step, price_step)
            counts[loser] -= nodes
            counts[winner] += nodes
            speed, price = speed + nodes * speed_step, price + nodes * price_step
