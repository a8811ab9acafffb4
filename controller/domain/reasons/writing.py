"""Reasons for which a controller may not write, or can't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason

# One writer


@dataclass(frozen=True)
class HeldByAnother(Reason):
    """Another command works in the environment."""

    code: ClassVar[str] = "held-by-another"
    environment: str
    user: str
    host: str
    pid: int
    command: str
    since: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class HeldBySomebody(Reason):
    """Another command works in the environment, and could not write down who it is."""

    code: ClassVar[str] = "held-by-somebody"
    environment: str
    file: str


@dataclass(frozen=True)
class LockLost(Reason):
    """The lock of the environment was removed or replaced while it was held."""

    code: ClassVar[str] = "lock-lost"
    file: str


@dataclass(frozen=True)
class RunTakenOver(Reason):
    """Another controller has taken over the run since this one opened its journal."""

    code: ClassVar[str] = "run-taken-over"
    run: str
    generation: int
    """How many controllers had taken the run over when this one did."""
    latest: int
    """How many have by now."""


@dataclass(frozen=True)
class LeaseHeld(Reason):
    """Another machine or checkout has the cluster's lease."""

    code: ClassVar[str] = "lease-held"
    cluster: str
    user: str
    host: str
    pid: int
    command: str
    since: float
    """Seconds since the epoch, by the holder's clock."""
    age_s: float
    """How long ago it was renewed."""
    lasts_s: float


@dataclass(frozen=True)
class LeaseUnreadable(Reason):
    """What lies in the place of the cluster's lease can't be understood."""

    code: ClassVar[str] = "lease-unreadable"
    cluster: str
    key: str
    problem: str


@dataclass(frozen=True)
class LeaseTaken(Reason):
    """Another holder has taken the cluster's lease since this one had it."""

    code: ClassVar[str] = "lease-taken"
    cluster: str
    holder: str
    """Who has it now, in words; empty where that can't be read."""


@dataclass(frozen=True)
class LeaseFired(Reason):
    """The dead man's switch has given the cluster back, although a controller held its lease."""

    code: ClassVar[str] = "lease-fired"
    cluster: str
    by: str
    """Whose switch it was: `head`, `worker`, `reaper` or `person`."""
    why: str
    """The code of the switch's reason."""


@dataclass(frozen=True)
class LeaseUncertain(Reason):
    """The cluster's lease could not be renewed in time: it may have run out, and be somebody else's by now."""

    code: ClassVar[str] = "lease-uncertain"
    cluster: str
    problem: str


# The disk


@dataclass(frozen=True)
class NotWritten(Reason):
    """A file can't be written now, because the disk is full or fails."""

    code: ClassVar[str] = "not-written"
    file: str
    problem: str
