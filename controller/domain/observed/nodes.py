"""What the nodes themselves show: the head with its hosts file and launcher, and the service of each worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LauncherState(str, Enum):
    """What the head's supervisor says of the launcher."""

    ABSENT = "absent"
    """It is not set up, or was never started for this run."""
    RUNNING = "running"
    ENDED = "ended"
    """It has ended by itself, and has left done.json."""
    DEAD = "dead"
    """It ended without done.json, and nothing starts it again."""


class WorkerState(str, Enum):
    """What a worker's supervisor says of its service."""

    ABSENT = "absent"
    """It is not set up for this run."""
    STARTING = "starting"
    """It runs and is not warm yet."""
    WARM = "warm"
    """It waits for a rank, or has one."""
    LEFT = "left"
    """It has ended by itself, as a rank does that leaves the training."""
    DEAD = "dead"
    """It has failed, and nothing starts it again."""


@dataclass(frozen=True)
class HeadSeen:
    """What the head shows.

    Attributes:
        launcher: The state of the launcher.
        hosts: The private addresses in the hosts file; None where there is no such file for this run.
        hosts_written_at: When the hosts file was written, on the controller's clock (seconds since the epoch).
        clock_ahead_s: How far the head's clock is ahead of the controller's, in seconds.
    """

    launcher: LauncherState
    hosts: frozenset[str] | None = None
    hosts_written_at: float | None = None
    clock_ahead_s: float = 0.0


@dataclass(frozen=True)
class NodeSeen:
    """What a worker that answers shows.

    Attributes:
        worker: The state of its service.
        clock_ahead_s: How far its clock is ahead of the controller's, in seconds. Its fact's times are corrected by it.
    """

    instance_id: str
    worker: WorkerState
    clock_ahead_s: float = 0.0
