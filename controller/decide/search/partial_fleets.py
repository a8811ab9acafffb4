"""Partial fleets: those that the enumeration has decided on for some of the flavors."""

from __future__ import annotations

import numpy as np

from controller.decide.limits.bounds import SLACK
from controller.decide.search.hull import Flavors, Floats, Ints

MAX_STATES = 1_500
"""Partial fleets kept at once; of more, this many are kept evenly, and the enumeration is no proof any more."""
PRUNE_FROM = 64
"""Fewer partial fleets than this are not worth pruning."""


class PartialFleets:
    """Partial fleets: how each differs from the greedy fleet, and the reduced cost of the difference."""

    def __init__(self, base: Ints, others: list[int]) -> None:
        self.counts: Ints = base[None, :].copy()
        self.spent: Floats = np.zeros(1)
        self.others = others
        self.work = 0
        self.is_thinned = False

    def vary(self, flavor: int, reduced: float, depth: float, flavors: Flavors) -> None:
        """Branches each partial fleet into every number of nodes of one flavor that the depth allows.

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
        """Keeps this many partial fleets, evenly chosen."""
        count = len(self.spent)
        self.kept: Ints = np.arange(count)
        if count > most:
            self.is_thinned = True
            self.kept = np.linspace(0, count - 1, most).astype(np.int64)
            self.counts, self.spent = self.counts[self.kept], self.spent[self.kept]

    def _drop_dominated(self, flavors: Flavors) -> None:
        """Drops the partial fleets that another of as many nodes beats in both price and speed."""
        used = self.counts[:, self.others].astype(np.float64)  # once, where each product would do it again
        nodes, price, speed = used.sum(axis=1), used @ flavors.prices[self.others], used @ flavors.speeds[self.others]
        order = np.lexsort((-speed, price, nodes))
        nodes, speed = nodes[order], speed[order]
        # Speeds of each group are lifted above those of the groups before it, so that one running maximum serves all.
        lifted = speed + np.cumsum(np.diff(nodes, prepend=nodes[0]) > 0) * (speed.max() + 1.0)
        before = np.maximum.accumulate(np.concatenate([[-np.inf], lifted[:-1]]))
        is_kept = lifted > before
        if not is_kept.all():
            kept = np.sort(order[is_kept])
            self.counts, self.spent = self.counts[kept], self.spent[kept]
