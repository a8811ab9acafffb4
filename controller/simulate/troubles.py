"""What changes by itself while a simulated training runs, and what goes wrong with its facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outage:
    """A spot pool that EC2 takes back: at once, and with no capacity until the outage ends."""

    at_s: float
    flavor: str
    share: float
    """The share of the flavor's nodes that are lost, 0 to 1."""
    seconds: float


@dataclass(frozen=True)
class BatchPhase:
    """From a step on, a step has `factor` times the scenario's tokens."""

    from_step: int
    factor: float


@dataclass(frozen=True)
class Troubles:
    """What changes by itself, and what goes wrong with facts. By default nothing does."""

    drift_sigma: float = 0.0
    """How far the logarithm of a flavor's speed drifts (standard deviation)."""
    drift_correlation_s: float = 4 * 3600.0
    """After this time a drifting speed remembers 1/e of where it was."""
    neighbours_per_hour: float = 0.0
    """How often a node gets a noisy neighbour."""
    neighbour_s: float = 1200.0
    """How long a noisy neighbour stays, on average."""
    least_neighbour_share: float = 0.4
    """The least share of its speed that a node keeps beside a noisy neighbour."""
    outages: tuple[Outage, ...] = ()
    phases: tuple[BatchPhase, ...] = ()
    """In the order of their beginnings."""
    facts_delay_s: float = 0.0
    """How old facts are when the controller sees them."""
    missing_facts_share: float = 0.0
    """The share of facts that a pass does not get."""

    def batch_factor(self, step: float) -> float:
        """Returns how many times the scenario's tokens the step has that follows so many steps."""
        return next((phase.factor for phase in reversed(self.phases) if step >= phase.from_step), 1.0)

    def batch_sum(self, step: float) -> float:
        """Returns the sum of `batch_factor` over so many first steps."""
        starts = [0, *(phase.from_step for phase in self.phases)]
        factors = [1.0, *(phase.factor for phase in self.phases)]
        spans = zip(factors, starts, [*starts[1:], math.inf], strict=True)
        return sum(factor * max(0.0, min(end, step) - start) for factor, start, end in spans)

    def next_phase(self, step: float) -> int | None:
        """Returns the step at which the next phase begins; None in the last one."""
        return next((phase.from_step for phase in self.phases if phase.from_step > step), None)

    @classmethod
    def parsed(cls, raw: Mapping[str, Any]) -> Troubles:
        """Returns the troubles that a mapping of a YAML file describes. Raises TypeError for a key that is unknown."""
        outages = tuple(Outage(**outage) for outage in raw.get("outages", ()))
        phases = tuple(BatchPhase(**phase) for phase in raw.get("phases", ()))
        return cls(**{**raw, "outages": outages, "phases": phases})


NO_TROUBLES = Troubles()
