"""Ending processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads a session of its own, together with what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def end_marked(variable: str, value: str) -> None:
    """Ends all processes of this user in whose environment a variable has this value."""
    marker = f"{variable}={value}".encode()
    end(found("environ", lambda entries: marker in entries))


def found(file: str, is_wanted: Callable[[list[bytes]], bool]) -> list[int]:
    """Returns the other processes of this user whose entries in a file of /proc/PID are the wanted ones.

    Args:
        file: `environ` or `cmdline`.
        is_wanted: Judges the entries of one process.
    """
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_own = entry.stat().st_uid == os.getuid() and int(entry.name) != os.getpid()
            if is_own and is_wanted((entry / file).read_bytes().split(b"\0")):
                pids.append(int(entry.name))
    return pids


def end(pids: Iterable[int]) -> None:
    """Ends processes at once."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
