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
    because: Reason | None = None
    """Why these nodes; None where there is no deadline."""


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


@dataclass(frozen=True)
class OnDemandForDeadline(Reason):
    """The rest of the work is bought on demand, so that the deadline is kept."""

    code: ClassVar[str] = "on-demand-for-deadline"
    target: Fleet
    needed_s: float
    """How long the rest takes on demand, its start included, with the confidence that is asked for."""
    left_s: float
    """The time to the deadline."""
    could_wait: bool
    """Whether on-demand could begin later and still keep the deadline."""


@dataclass(frozen=True)
class SpotForDeadline(Reason):
    """Nodes are bought on spot: on-demand still keeps the deadline if EC2 takes them back."""

    code: ClassVar[str] = "spot-for-deadline"
    target: Fleet
    needed_s: float
    left_s: float


@dataclass(frozen=True)
class WaitsForSpot(Reason):
    """The training stands still until there is spot capacity, as long as on-demand still keeps the deadline."""

    code: ClassVar[str] = "waits-for-spot"
    until: float
    """When on-demand begins at the latest (seconds since the epoch)."""
    needed_s: float
    left_s: float


@dataclass(frozen=True)
class NoSpotForDeadline(Reason):
    """No move to spot nodes: it would put the deadline at risk, or cost more than on-demand in the end."""

    code: ClassVar[str] = "no-spot-for-deadline"
    target: Fleet
    needed_s: float
    left_s: float
    is_risky: bool
    """Whether on-demand might not keep the deadline any more after a move that fails."""
