"""Which fleets a search may return, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.domain import Fleet
from controller.domain.objective import Objective

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
    """What a deadline leaves for a step."""
    max_usd_per_step: float | None = None
    """What a budget leaves for a step, in dollars."""

    @property
    def sizes(self) -> range:
        """The world sizes that caps and limits leave."""
        most = sum(self.caps.values())
        return range(max(1, self.min_nodes), min(most, most if self.max_nodes is None else self.max_nodes) + 1)


@dataclass(frozen=True)
class Found:
    """The best fleet, what a step of it takes and costs, and how well that is proven."""

    fleet: Fleet
    step_s: float
    usd_per_step: float
    proven_gap: float = 0.0
    """No allowed fleet is better by more than this share; at most `search.TOLERANCE` unless it was cut short."""

    def value(self, objective: Objective) -> float:
        """What the objective makes least: dollars or seconds per step."""
        return self.usd_per_step if objective is Objective.COST else self.step_s
