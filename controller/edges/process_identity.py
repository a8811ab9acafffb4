"""Processes of this machine, named so that no later process with the same number is mistaken for them."""

from __future__ import annotations

import os
import pwd
import socket
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STATE, _STARTED = 0, 19
"""Places in `/proc/PID/stat` after the command: the state, and the start in clock ticks since the boot (proc(5))."""
_ENDED = ("Z", "X")
"""States of a process that has ended, and whose parent has not taken notice yet."""


@dataclass(frozen=True)
class Process:
    """One process, with who runs it and where.

    Attributes:
        started: The boot of the machine and the clock ticks from it to the start of the process; empty where unknown.
    """

    user: str
    host: str
    pid: int
    started: str

    def is_dead(self) -> bool:
        """Returns whether the process is known to have ended. Of another machine's processes nothing is known."""
        now = _started(self.pid)
        return self.host == socket.gethostname() and (now is None or now != self.started)


def this_process() -> Process:
    """Returns the process that calls this."""
    return process(os.getpid())


def process(pid: int) -> Process:
    """Returns a process of this machine and this user."""
    return Process(_user(), socket.gethostname(), pid, _started(pid) or "")


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number without a name
        return str(os.getuid())


def _started(pid: int) -> str | None:
    """Returns when a process started; None when there is none, or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if fields[_STATE] in _ENDED else f"{boot} {fields[_STARTED]}"
