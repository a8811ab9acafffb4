"""Reasons that are about the spot market: nodes that EC2 takes back, and the wait for capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason


@dataclass(frozen=True)
class NodesTakenBack(Reason):
    """EC2 takes nodes back, or may soon, or does not launch them any more: others take their places."""

    code: ClassVar[str] = "nodes-taken-back"
    taken: Fleet
    """The nodes that are replaced."""
    replaced_by: Fleet
    lost_before: int
    """How often nodes of the flavors that replace them were taken back, in this run and earlier ones."""


@dataclass(frozen=True)
class OnDemandInstead(Reason):
    """The spot market has had no capacity for so long that nodes are bought on demand."""

    code: ClassVar[str] = "on-demand-instead"
    waited_s: float


@dataclass(frozen=True)
class WaitsForCapacity(Reason):
    """No spot pool has capacity for the nodes that are lacking: the run waits until one has."""

    code: ClassVar[str] = "waits-for-capacity"
    lacking: Fleet
    """The nodes that are waited for."""
    training: int
    """How many nodes train meanwhile."""
    since: float
    """Seconds since the epoch."""
    on_demand_at: float | None
    """When nodes are bought on demand instead; None where they are not."""


@dataclass(frozen=True)
class ReplacementUnaffordable(Reason):
    """The hourly limit leaves no room for a replacement before the node that it replaces is gone."""

    code: ClassVar[str] = "replacement-unaffordable"
    lacking: Fleet
    limit_usd_per_hour: float
