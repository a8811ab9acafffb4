"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain import Fleet
from controller.domain.objective import Objective


@dataclass(frozen=True)
class Found:
    """The best fleet, what a step of it takes and costs, and how well that is proven."""

    fleet: Fleet
    step_s: float
    usd_per_step: float
    proven_gap: float = 0.0
    """No allowed fleet is better by more than this share; at most `best_fleet.TOLERANCE` unless it was cut short."""

    def value(self, objective: Objective) -> float:
        """What the objective makes least: dollars or seconds per step."""
        return self.usd_per_step if objective is Objective.COST else self.step_s
