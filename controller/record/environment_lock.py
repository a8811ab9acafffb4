"""The lock of an environment, `.centavo/ENV/controller.lock`: one command at a time changes what the environment is.

The lock is `flock` on the open file, so that the kernel frees it when its holder dies, however that happens. Programs
that the holder starts don't inherit the open file (PEP 446), and a forked child closes it: neither an SSH connection
that stays open nor a Terraform that outlives its controller keeps the lock. The file's content says who holds the lock,
for people. It is empty while nobody does.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from controller.domain.errors import LockedError, SupersededError
from controller.domain.reasons.writing import HeldByAnother, HeldBySomebody, LockLost
from controller.domain.times import iso
from controller.edges.files import not_written
from controller.edges.process_identity import Process, this_process
from controller.words.reasons.sentences import as_sentence

FILE_NAME = "controller.lock"
READABLE_BY_ALL = 0o644
LOOKS, BETWEEN_LOOKS_S = 10, 0.05
"""A refused command looks so often, in this rhythm, until the lock's new holder has written down who it is."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: the process, its command, and since when (seconds since the epoch)."""

    process: Process
    command: str
    since: float

    def __str__(self) -> str:
        process = self.process
        return f"`{self.command}` of {process.user}@{process.host} (process {process.pid}, since {iso(self.since)})"


class EnvironmentLock:
    """A lock that is held.

    Attributes:
        holder: Who holds it: this process.
        stale: Who held it before and died without giving it back, or None.
    """

    def __init__(self, path: Path, descriptor: int, holder: Holder, stale: Holder | None) -> None:
        self.holder, self.stale = holder, stale
        self._path, self._descriptor = path, descriptor
        _held.add(self)

    def check(self) -> None:
        """Checks that the lock is still held.

        Raises:
            SupersededError: The file was removed or replaced, or the lock was released.
        """
        if self._descriptor < 0 or not _is_at(self._path, self._descriptor):
            reason = LockLost(str(self._path))
            raise SupersededError(as_sentence(reason), "Start the command again.", reason=reason)

    def check_surely(self) -> None:
        """Does what `check` does: the kernel always knows who holds the lock."""
        self.check()

    def release(self) -> None:
        """Gives the lock back. A lock that was given back is not given back again."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self.abandon()

    def abandon(self) -> None:
        """Closes the file, as a forked child has to do: the lock stays with the process that took it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


_held: weakref.WeakSet[EnvironmentLock] = weakref.WeakSet()


def _abandon_in_child() -> None:
    for lock in list(_held):
        lock.abandon()


os.register_at_fork(after_in_child=_abandon_in_child)


@contextmanager
def locked(
    directory: Path, environment: str, command: str, now: float, told: Callable[[str], None] = lambda message: None
) -> Iterator[EnvironmentLock]:
    """Holds the lock of an environment while inside. `take_lock` says what the arguments are.

    Args:
        told: Gets a note for people about what a dead holder left.

    Raises:
        LockedError: Another command holds the lock.
    """
    lock = take_lock(directory, environment, command, now)
    try:
        if lock.stale is not None:
            told(f"{lock.stale} ended without giving its lock back; the lock is cleared")
        yield lock
    finally:
        lock.release()


def take_lock(directory: Path, environment: str, command: str, now: float) -> EnvironmentLock:
    """Takes the lock of an environment, which a holder that has died does not keep.

    Args:
        directory: Where the environment keeps what belongs to this checkout.
        environment: Its name, for the error.
        command: What the lock is for, for people: `centavo optimize`.
        now: Seconds since the epoch.

    Raises:
        LockedError: Another command holds the lock. The error says who, and since when.
        DiskError: The lock can't be made.
    """
    path = directory / FILE_NAME
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = _living_holder(descriptor)
        os.close(descriptor)
        raise _refusal(environment, path, holder) from error
    except OSError as error:
        os.close(descriptor)
        raise not_written(path, error) from error
    if not _is_at(path, descriptor):  # somebody removed the file between opening and locking it
        os.close(descriptor)
        return take_lock(directory, environment, command, now)
    stale, holder = _holder(descriptor), Holder(this_process(), command, now)
    _write(descriptor, holder)
    return EnvironmentLock(path, descriptor, holder, stale)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, READABLE_BY_ALL)
    except OSError as error:
        raise not_written(path, error) from error


def _is_at(path: Path, descriptor: int) -> bool:
    """Returns whether the open file is the one that the path names."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _living_holder(descriptor: int) -> Holder | None:
    """Returns who holds the lock now. A holder that has just taken it may still have to write down who it is."""
    for _ in range(LOOKS):
        holder = _holder(descriptor)
        if holder is not None and not holder.process.is_dead():
            return holder
        time.sleep(BETWEEN_LOOKS_S)
    return None


def _holder(descriptor: int) -> Holder | None:
    """Returns who is written in the file; None where it is empty or can't be understood."""
    try:
        raw = json.loads(os.pread(descriptor, 1 << 16, 0))
        return Holder(Process(**raw["process"]), str(raw["command"]), float(raw["since"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(descriptor: int, holder: Holder) -> None:
    """Writes who holds the lock. On a full disk the lock is held all the same, and nobody can read by whom."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode() + b"\n", 0)


def _refusal(environment: str, path: Path, holder: Holder | None) -> LockedError:
    if holder is None:
        unknown = HeldBySomebody(environment, str(path))
        return LockedError(as_sentence(unknown), f"Wait until it ends; `fuser {path}` names it.", reason=unknown)
    process = holder.process
    reason = HeldByAnother(environment, process.user, process.host, process.pid, holder.command, holder.since)
    return LockedError(
        as_sentence(reason),
        f"Wait until it ends, or stop it with `kill {process.pid}` on {process.host}. "
        "`centavo status` and `centavo watch` work meanwhile.",
        reason=reason,
    )
