"""Terraform's lock on its state: whose it is, and what a Terraform of ours that died has left of it.

While a Terraform of ours runs that locks the state, a file `.centavo/ENV/terraform/PID.json` says so. A file whose
process has ended was left behind by a killed Terraform, or by a killed controller.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from controller.domain.errors import DiskError, StoppedError
from controller.edges.files import write_whole
from controller.edges.process_identity import Process

OPERATIONS = {"plan": "OperationTypePlan", "apply": "OperationTypeApply"}
"""The commands that lock the state, and what Terraform writes into the lock for each."""
POLL_S = 0.2
ROUNDED_S = 1.0
"""The lock's time is read to the second."""


@dataclass(frozen=True)
class StateLock:
    """A lock on the state, as Terraform tells of it. `created_at` is in seconds since the epoch."""

    lock_id: str
    operation: str
    who: str
    created_at: float


@dataclass(frozen=True)
class Running:
    """A Terraform of ours that may have locked the state.

    Attributes:
        process: Terraform itself.
        starter: The controller that started it.
        command: `plan` or `apply`.
        at: When it was started, in seconds since the epoch.
        limit_s: The time that it has.
    """

    process: Process
    starter: Process
    command: str
    at: float
    limit_s: float

    def has_left(self, lock: StateLock) -> bool:
        """Returns whether a lock is this Terraform's, which has ended without giving it back."""
        who = f"{self.process.user}@{self.process.host}"
        is_own = (lock.who, lock.operation) == (who, OPERATIONS[self.command])
        return is_own and lock.created_at >= self.at - ROUNDED_S and self.process.is_dead()


class Records:
    """The files that say which Terraforms of ours run in an environment."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, running: Running) -> None:
        """Keeps that a Terraform runs. On a full disk it runs unrecorded; a lock that it leaves is not cleared then."""
        with suppress(DiskError):
            write_whole(self._file(running.process.pid), json.dumps(asdict(running)) + "\n")

    def remove(self, pid: int) -> None:
        """Forgets a Terraform that has ended, and has given its lock back."""
        self._file(pid).unlink(missing_ok=True)

    def dead(self) -> tuple[Running, ...]:
        """Returns the Terraforms that ended without being forgotten."""
        return tuple(running for running in self._all() if running.process.is_dead())

    def orphans(self) -> tuple[Running, ...]:
        """Returns the Terraforms that run on although the controller that started them has died."""
        return tuple(r for r in self._all() if not r.process.is_dead() and r.starter.is_dead())

    def _all(self) -> Iterator[Running]:
        for file in sorted(self._directory.glob("*.json")):
            try:
                raw = json.loads(file.read_bytes())
                yield Running(**{**raw, "process": Process(**raw["process"]), "starter": Process(**raw["starter"])})
            except (OSError, ValueError, TypeError, KeyError):
                continue

    def _file(self, pid: int) -> Path:
        return self._directory / f"{pid}.json"


def read_state_lock(said: str) -> StateLock | None:
    """Returns the lock that Terraform says it could not get; None where it says nothing of a lock."""
    found = dict(re.findall(r"^\W*(ID|Operation|Who|Created):\s+(.+?)\s*$", said, re.MULTILINE))
    if "Error acquiring the state lock" not in said or "ID" not in found:
        return None
    return StateLock(found["ID"], found.get("Operation", ""), found.get("Who", ""), _seconds(found.get("Created", "")))


def other_terraform_runs(directory: Path) -> bool:
    """Returns whether any Terraform of this machine works in the directory."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name = (entry / "comm").read_text().strip()
            if name == "terraform" and os.path.samefile(entry / "cwd", directory):
                return True
    return False


def end_orphans(records: Records, grace_s: float, is_stopping: Callable[[], bool], tell: Callable[[str], None]) -> None:
    """Waits until the Terraforms have ended that outlived their controller, so that what they apply is in the state.

    One whose time is over is asked to stop, and then killed.

    Raises:
        StoppedError: A person wants to stop.
    """
    for orphan in records.orphans():
        what = f"terraform {orphan.command} (process {orphan.process.pid})"
        tell(f"{what} of a controller that has died still runs; waiting until it ends")
        left_s = min(orphan.limit_s, max(0.0, orphan.at + orphan.limit_s - time.time()))
        if _ends(orphan, left_s, is_stopping):
            records.remove(orphan.process.pid)
            continue
        os.kill(orphan.process.pid, signal.SIGINT)
        if not _ends(orphan, grace_s, is_stopping):
            os.killpg(orphan.process.pid, signal.SIGKILL)
            _ends(orphan, grace_s, is_stopping)


def _ends(orphan: Running, within_s: float, is_stopping: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + within_s
    while not orphan.process.is_dead():
        if is_stopping():
            raise StoppedError(f"Stopped while terraform {orphan.command} still runs.")
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _seconds(created: str) -> float:
    """Returns the time of a lock (`2026-11-21 18:00:00.123456789 +0000 UTC`); 0 where it can't be read."""
    try:
        return datetime.strptime(created[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0
