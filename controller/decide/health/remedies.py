"""Which remedy comes next, after those that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.domain.health import HealthLimits, Remedy, RemedyKind

MEMORY_S = 3600.0
"""How long a remedy counts as tried, at least."""
MOST_REPLACED = 3
"""The most nodes that are replaced within that time: a fault of all nodes must not end one instance after another."""


@dataclass(frozen=True)
class Tried:
    """The remedies that count at a time."""

    remedies: tuple[Remedy, ...]
    now: float
    limits: HealthLimits

    @classmethod
    def of(cls, remedies: Sequence[Remedy], now: float, limits: HealthLimits) -> Tried:
        """Returns those of the remedies that still count."""
        longest_s = max(limits.stall_s, limits.head_s, limits.remedy_s, limits.finish_s)
        memory_s = max(MEMORY_S, (limits.tries + 2) * longest_s)
        return cls(tuple(r for r in remedies if 0 <= now - r.at < memory_s), now, limits)

    def and_also(self, remedy: Remedy) -> Tried:
        """Returns the remedies with one more."""
        return replace(self, remedies=(*self.remedies, remedy))

    def repeated(self, kind: RemedyKind, patience_s: float) -> RemedyKind | None:
        """Returns the remedy, until it was tried often enough: then the training ends. None while the last one works.

        Args:
            kind: The remedy.
            patience_s: How long it is given each time.
        """
        same = [remedy.at for remedy in self.remedies if remedy.kind is kind]
        if same and self.now - max(same) < patience_s:
            return None
        return kind if len(same) < self.limits.tries else RemedyKind.END_TRAINING

    def kinds(self, *kinds: RemedyKind) -> tuple[str, ...]:
        """Returns which of these remedies were tried, oldest first."""
        return tuple(r.kind.value for r in sorted(self.remedies, key=lambda r: r.at) if r.kind in kinds)

    def last(self, node: str, kind: RemedyKind) -> Remedy | None:
        """Returns the last remedy of a kind that was tried on a node."""
        same = [remedy for remedy in self.remedies if remedy.kind is kind and remedy.node == node]
        return max(same, key=lambda remedy: remedy.at) if same else None

    def drop(self, node: str) -> RemedyKind | None:
        """Returns that a member is to be dropped; None while the last try is given its time."""
        return None if self.is_dropping(node) else RemedyKind.DROP_RANK

    def replace(self, node: str) -> RemedyKind | None:
        """Returns that a node which takes no part is to be replaced; None where it has to wait.

        A node that was dropped has time to leave the training first.
        """
        if self.is_dropping(node) or self._is_recent(self.last(node, RemedyKind.REPLACE_NODE)):
            return None
        replaced = {remedy.node for remedy in self.remedies if remedy.kind is RemedyKind.REPLACE_NODE}
        return RemedyKind.REPLACE_NODE if len(replaced - {node}) < MOST_REPLACED else None

    def is_dropping(self, node: str | None = None) -> bool:
        """Tells whether this node, or without a name any node, was dropped lately and is given its time."""
        drops = [remedy for remedy in self.remedies if remedy.kind is RemedyKind.DROP_RANK]
        return any(self._is_recent(remedy) for remedy in drops if node in (None, remedy.node))

    def _is_recent(self, remedy: Remedy | None) -> bool:
        return remedy is not None and self.now - remedy.at < self.limits.remedy_s


def dropped(tried: Sequence[Remedy], now: float, limits: HealthLimits) -> frozenset[str]:
    """Returns the instances that were dropped for a fault. They must not be let in again: they are replaced."""
    remedies = Tried.of(tried, now, limits).remedies
    return frozenset(r.node for r in remedies if r.kind is RemedyKind.DROP_RANK and r.node is not None)
