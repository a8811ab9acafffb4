"""Which fleets a search may return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SLACK = 1e-9
"""Relative room for rounding where a number is held against a bound."""


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
    """Seconds that a deadline leaves for a step."""
    max_usd_per_step: float | None = None
    """Dollars that a budget leaves for a step."""

    @property
    def sizes(self) -> range:
        """The world sizes that caps and limits leave."""
        most = sum(self.caps.values())
        return range(max(1, self.min_nodes), min(most, most if self.max_nodes is None else self.max_nodes) + 1)
