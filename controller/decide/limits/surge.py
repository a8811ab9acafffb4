"""How many nodes `max_surge` allows a move to exchange at once, and how many moves an exchange takes.

While a move has grown and not yet shrunk, all nodes of both fleets run. Those above the larger of the two fleets' sizes
are as many as are exchanged: the smaller of what is added and what is taken away.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from controller.decide.limits.bounds import Bounds
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

    def keeps(self, max_surge: int | None) -> bool:
        """Tells whether one move may make the exchange."""
        return max_surge is None or self.surge <= max_surge

    def room(self, bounds: Bounds) -> tuple[int, int]:
        """Returns how many nodes may be added before any is removed, and how many may be removed first."""
        most = sys.maxsize if bounds.max_nodes is None else bounds.max_nodes
        grow = min(self.added.size, most - self.current.size)
        shrink = min(self.removed.size, self.current.size - max(1, bounds.min_nodes))
        return max(0, grow), max(0, shrink)


def exchange(current: Fleet, target: Fleet) -> Exchange:
    """Returns the exchange that leads from one fleet to another."""
    return Exchange(current, target.beyond(current), current.beyond(target))


def moves_needed(change: Exchange, max_surge: int | None, bounds: Bounds) -> int:
    """Returns how many moves keep within the surge. An estimate for `max_surge` 0; 1 where there is no way."""
    if change.keeps(max_surge):
        return 1
    if max_surge:
        return math.ceil(change.surge / max_surge)
    room = max(change.room(bounds))
    return 2 * math.ceil(change.surge / room) if room else 1


def first_move(change: Exchange, max_surge: int, bounds: Bounds, cost: Callable[[str], float]) -> Fleet | None:
    """Returns the fleet after the first of the moves; None where no move is allowed.

    The cheapest flavors by `cost` are added first, and the most expensive removed first. For `max_surge` 0 a move only
    adds nodes and the next one removes others, or the other way round.
    """
    added, removed = change.added.size, change.removed.size
    if max_surge:
        added, removed = max_surge + max(0, added - removed), max_surge + max(0, removed - added)
    else:
        grow, shrink = change.room(bounds)
        added, removed = (grow, 0) if grow else (0, shrink)
    if not added + removed:
        return None
    counts = dict(change.current)
    for flavor in sorted(change.added, key=lambda f: (cost(f), f)):
        taken = min(added, change.added.count(flavor))
        counts[flavor], added = counts.get(flavor, 0) + taken, added - taken
    for flavor in sorted(change.removed, key=lambda f: (-cost(f), f)):
        taken = min(removed, change.removed.count(flavor))
        counts[flavor], removed = counts[flavor] - taken, removed - taken
    return Fleet(counts)
