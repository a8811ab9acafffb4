"""What a fleet may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What a fleet may be. `min_nodes` and `max_nodes` are of the whole fleet; None is no limit."""

    min_nodes: int = 1
    max_nodes: int | None = None
    max_nodes_per_flavor: Mapping[str, int] = field(default_factory=dict)
    max_vcpus_per_flavor: Mapping[str, int] = field(default_factory=dict)
    max_usd_per_hour: float | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Flavors that may not be used, each with the reason (also those that are unavailable for now)."""
    deadline_at: float | None = None
    budget_usd: float | None = None
    """For the whole training, what has been spent included."""
    confidence: float | None = None
    """The chance with which deadline and budget are to be kept, 0.5 to 1; None: as the settings of deciding say."""
    max_surge: int | None = None
    """Nodes above the larger of the two fleets' sizes that may run during a move."""
