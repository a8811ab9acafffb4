"""What may run while a move is under way, and how many moves an exchange takes.

While a move has grown and not yet shrunk, all nodes of both fleets run. Those above the larger of the two fleets' sizes
are as many as are exchanged: the smaller of what is added and what is taken away. `max_surge` limits them.
`max_usd_per_hour` limits what all of them and the head cost.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.decide.limits.bounds import SLACK, Bounds
from controller.domain import Fleet


@dataclass(frozen=True)
class Exchange:
    """What a move adds to the present fleet and what it takes away."""

    current: Fleet
    added: Fleet
    removed: Fleet

    @property
    def surge(self) -> int:
        """Nodes above the larger of the two fleets' sizes while the move is under way."""
        return min(self.added.size, self.removed.size)

    def room(self, bounds: Bounds) -> tuple[int, int]:
        """Returns how many nodes may be added before any is removed, and how many may be removed first."""
        most = sys.maxsize if bounds.max_nodes is None else bounds.max_nodes
        grow = min(self.added.size, most - self.current.size)
        shrink = min(self.removed.size, self.current.size - max(1, bounds.min_nodes))
        return max(0, grow), max(0, shrink)


def exchange(current: Fleet, target: Fleet) -> Exchange:
    """Returns the exchange that leads from one fleet to another."""
    return Exchange(current, target.beyond(current), current.beyond(target))


@dataclass(frozen=True)
class Surge:
    """What may run while a move is under way. None is no limit.

    Attributes:
        max_nodes: Nodes above the larger of the two fleets' sizes.
        max_usd_per_hour: Dollars per hour of all nodes and the head.
        usd_per_hour: By flavor. A flavor without a price counts as free: it runs already, or can't be chosen.
        head_usd_per_hour: What the head costs.
    """

    max_nodes: int | None = None
    max_usd_per_hour: float | None = None
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    head_usd_per_hour: float = 0.0

    def allows(self, change: Exchange) -> bool:
        """Tells whether one move may make the exchange."""
        return self.has_nodes(change) and self.has_money(change)

    def has_nodes(self, change: Exchange) -> bool:
        """Tells whether no more nodes run during the move than are allowed."""
        return self.max_nodes is None or change.surge <= self.max_nodes

    def has_money(self, change: Exchange) -> bool:
        """Tells whether all that runs during the move keeps the limit on dollars per hour. A fleet may always shrink.

        Rounding is no reason to refuse a move.
        """
        if self.max_usd_per_hour is None or not change.added.size:
            return True
        return self.during_usd_per_hour(change) <= self.max_usd_per_hour * (1 + SLACK)

    def during_usd_per_hour(self, change: Exchange) -> float:
        """Returns the dollars per hour of all that runs while the move is under way, head included."""
        return self.head_usd_per_hour + self.usd_per_hour_of(change.current) + self.usd_per_hour_of(change.added)

    def free_usd_per_hour(self, change: Exchange) -> float:
        """Returns the dollars per hour that the limit leaves beside the present fleet; negative where it is broken."""
        if self.max_usd_per_hour is None:
            return math.inf
        return self.max_usd_per_hour * (1 + SLACK) - self.head_usd_per_hour - self.usd_per_hour_of(change.current)

    def price(self, flavor: str) -> float:
        """Returns the dollars per hour of a node."""
        return self.usd_per_hour.get(flavor, 0.0)

    def usd_per_hour_of(self, fleet: Fleet) -> float:
        """Returns the dollars per hour of a fleet."""
        return sum(count * self.price(flavor) for flavor, count in fleet.present.items())


def moves_needed(change: Exchange, surge: Surge, bounds: Bounds) -> int:
    """Returns how many moves keep within the surge; 1 where there is no way.

    It is an estimate where no node may be added first, or where the limit on dollars per hour is the narrower one.
    """
    if surge.allows(change):
        return 1
    by_nodes = 1 if surge.has_nodes(change) else _moves_for_nodes(change, surge.max_nodes or 0, bounds)
    return by_nodes if surge.has_money(change) else max(by_nodes, _moves_for_money(change, surge, bounds))


def _moves_for_nodes(change: Exchange, max_surge: int, bounds: Bounds) -> int:
    if max_surge:
        return math.ceil(change.surge / max_surge)
    room = max(change.room(bounds))
    return 2 * math.ceil(change.surge / room) if room else 1


def _moves_for_money(change: Exchange, surge: Surge, bounds: Bounds) -> int:
    free, added = surge.free_usd_per_hour(change), surge.usd_per_hour_of(change.added)
    if free >= min(surge.price(flavor) for flavor in change.added.present):
        return max(2, math.ceil(added / free))
    return 2 if change.room(bounds)[1] else 1


def first_move(change: Exchange, surge: Surge, bounds: Bounds, cost: Callable[[str], float]) -> Fleet | None:
    """Returns the fleet after the first of the moves; None where no move is allowed.

    The cheapest flavors by `cost` are added first, and the most expensive removed first. Where no node may be added
    beside the present ones, a move removes nodes first, and the next one adds others.
    """
    added, removed = change.added.size, change.removed.size
    grow, shrink = change.room(bounds)
    is_full = surge.max_nodes == 0
    most = sys.maxsize if surge.max_nodes is None else surge.max_nodes
    adding = _affordable(change, surge, grow if is_full else most + max(0, added - removed), cost)
    if adding.size:
        leaving = 0 if is_full else min(most + max(0, removed - added), adding.size + max(0, removed - added))
        return _changed(change, adding, _most_expensive(change, leaving, cost))
    first = _most_expensive(change, shrink, cost)
    if not is_full:
        first = _fewest(change, surge, first, cost)
    return _changed(change, adding, first) if first.size else None


def _affordable(change: Exchange, surge: Surge, most: int, cost: Callable[[str], float]) -> Fleet:
    """Returns the nodes that may be added now, at most so many, the cheapest flavors first."""
    free, taken = surge.free_usd_per_hour(change), {}
    for flavor in sorted(change.added, key=lambda f: (cost(f), f)):
        price = surge.price(flavor)
        fit = math.floor(max(0.0, free) / price) if price and math.isfinite(free) else sys.maxsize
        taken[flavor] = min(most, change.added.count(flavor), fit)
        most, free = most - taken[flavor], free - taken[flavor] * price
    return Fleet(taken)


def _most_expensive(change: Exchange, most: int, cost: Callable[[str], float]) -> Fleet:
    """Returns the nodes that may be removed now, at most so many, the most expensive flavors first."""
    taken = {}
    for flavor in sorted(change.removed, key=lambda f: (-cost(f), f)):
        taken[flavor] = min(most, change.removed.count(flavor))
        most -= taken[flavor]
    return Fleet(taken)


def _fewest(change: Exchange, surge: Surge, leaving: Fleet, cost: Callable[[str], float]) -> Fleet:
    """Returns as few of the nodes that may leave as make room for all that are to be added, if so few are enough."""
    lacking = surge.during_usd_per_hour(change) - (surge.max_usd_per_hour or 0.0)
    taken = {}
    for flavor in sorted(leaving, key=lambda f: (-cost(f), f)):
        price = surge.price(flavor)
        needed = math.ceil(max(0.0, lacking) / price) if price else 0
        taken[flavor] = min(leaving.count(flavor), needed)
        lacking -= taken[flavor] * price
    return Fleet(taken) if any(taken.values()) else leaving


def _changed(change: Exchange, adding: Fleet, leaving: Fleet) -> Fleet:
    current = change.current
    flavors = {*current, *adding}
    return Fleet({f: current.count(f) + adding.count(f) - leaving.count(f) for f in flavors})
