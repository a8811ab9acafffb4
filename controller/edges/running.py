"""Processes of this machine that must not go on for ever."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path


def run_within(
    limit_s: float,
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Runs a program to its end.

    The program has no terminal, so it asks nobody anything. When it takes too long, or when this call is interrupted,
    the program is ended with everything that it has started: one of its children may hold the output open.

    Raises:
        subprocess.TimeoutExpired: It did not end within the limit.
        OSError: It could not be started.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(stdin, timeout=limit_s)
        except BaseException:
            end_group(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


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
