"""A disk that is full. All hosts share this machine's file system, so each of their processes is limited instead."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Callable, Iterable


class Disk:
    """Whether a host's disk is full, and what that does to its processes.

    Writing to a file fails with EFBIG (`File too large`), not with ENOSPC, because the means is RLIMIT_FSIZE. Pipes,
    sockets, empty files and folders still work, and files can be deleted.
    """

    def __init__(self) -> None:
        self.is_full = False

    @property
    def preparation(self) -> Callable[[], None] | None:
        """What a new process of the host does before its `exec`; None means nothing."""
        return _prepare if self.is_full else None

    def enforce(self, pids: Iterable[int]) -> None:
        """Lets processes write, or not, as the disk is."""
        for pid in pids:
            _limit_files(pid, 0 if self.is_full else None)


def _prepare() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails then, and does not end the program
    _limit_files(0, 0)


def _limit_files(pid: int, largest_bytes: int | None) -> None:
    """Limits how large the files are that a process writes; None removes the limit. Pid 0 is this process."""
    with contextlib.suppress(ProcessLookupError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if largest_bytes is None else largest_bytes, hard))
