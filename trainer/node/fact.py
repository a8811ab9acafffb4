"""Iteration facts: what this rank says of itself, as JSON in `facts.d/iteration.fact`, replaced by rename."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from statistics import median

from trainer.node.metadata import Identity

SCHEMA = 1
FILE_NAME = "iteration.fact"


class State(str, Enum):
    """What a rank is doing."""

    STARTING = "starting"
    TRAINING = "training"
    DRAINING = "draining"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class MembershipChange:
    """One change of the world: the pause is from the end of the last step before it to the start of the next."""

    at: str
    from_size: int
    to_size: int
    pause_s: float
    steps_lost: int


@dataclass(frozen=True)
class Iteration:
    """One step as this rank saw it: `iteration_time_s` with allreduce, `compute_time_s` its own work alone."""

    iteration_time_s: float
    compute_time_s: float
    samples: int
    tokens: int


class FactWriter:
    """Keeps the last `window` iterations and writes the fact, at most once in `interval_s` unless it is urgent.

    After each start and each change of the world the first `warmup_steps` iterations are left out and the window
    begins anew: they are slow for reasons that say nothing about the flavor, and a step's time depends on the world.
    """

    def __init__(
        self,
        directory: Path,
        identity: Identity,
        *,
        window: int = 50,
        warmup_steps: int = 3,
        interval_s: float = 1.0,
        emulated_speed: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = directory.expanduser() / FILE_NAME
        self._identity, self._emulated_speed = identity, emulated_speed
        self._warmup_steps, self._interval_s, self._clock = warmup_steps, interval_s, clock
        self._iterations: deque[Iteration] = deque(maxlen=window)
        self._left_out = 0
        self._written_at: float | None = None
        self.state = State.STARTING
        self.reason: str | None = None
        self.rank: int | None = None
        self.world_size: int | None = None
        self.step = 0
        self.total_steps: int | None = None
        self.total_tokens = 0
        self.loss: float | None = None
        self.share: float | None = None
        self.last_change: MembershipChange | None = None

    def record(self, iteration: Iteration) -> None:
        """Take one finished step into the window, unless it is one of the first after a change."""
        if self._left_out < self._warmup_steps:
            self._left_out += 1
        else:
            self._iterations.append(iteration)

    def begin_window(self) -> None:
        """Forget the window: the world has changed, or this rank has just begun."""
        self._iterations.clear()
        self._left_out = 0

    def publish(self, urgent: bool = True) -> bool:
        """Write the fact; when it is not urgent, only if the last was `interval_s` ago. Returns whether it was."""
        now = self._clock()
        if not urgent and self._written_at is not None and now - self._written_at < self._interval_s:
            return False
        _replace(self._path, json.dumps(self._fact(now)) + "\n")
        self._written_at = now
        return True

    def announce(self, state: State, reason: str | None = None) -> None:
        """Enter `state` and write it at once."""
        self.state, self.reason = state, reason
        self.publish()

    def _fact(self, now: float) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "instance_id": self._identity.instance_id,
            "flavor": self._identity.flavor,
            "rank": self.rank,
            "world_size": self.world_size,
            "state": self.state.value,
            "step": self.step,
            "iteration_time_s": self._median("iteration_time_s"),
            "compute_time_s": self._median("compute_time_s"),
            "samples": self._median("samples"),
            "tokens": self._median("tokens"),
            "window": len(self._iterations),
            "peak_memory_bytes": peak_memory_bytes(),
            "updated_at": timestamp(now),
            "reason": self.reason,
            "total_steps": self.total_steps,
            "total_tokens": self.total_tokens,
            "loss": self.loss,
            "share": self.share,
            "emulated_speed": self._emulated_speed,
            "last_change": None if self.last_change is None else asdict(self.last_change),
        }

    def _median(self, field: str) -> float | None:
        if not self._iterations:
            return None
        return round(float(median(getattr(iteration, field) for iteration in self._iterations)), 6)


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, with milliseconds and a Z."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def peak_memory_bytes() -> int:
    """The most memory this process has ever held (Linux counts it in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _replace(path: Path, text: str) -> None:
    """Write by rename, readable for all: Ansible may read facts as another user, and never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)
