"""Programs that get so much time and no more. They are killed with all that they have started."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from controller.edges.running import end_group

POLL_S = 0.1


@dataclass(frozen=True)
class Ended:
    """How a program ended. `was_late` says that it was stopped because its time was over."""

    code: int
    out: str
    err: str
    was_late: bool


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


def run_limited(
    command: Sequence[str],
    *,
    directory: Path,
    limit_s: float,
    grace_s: float,
    is_stopping: Callable[[], bool] = lambda: False,
    started: Callable[[int], None] = lambda pid: None,
) -> Ended:
    """Runs a program to its end. When its time is over, it is asked to stop first, as by Ctrl-C.

    What it prints goes to files and not through pipes: a program that outlives the controller would die at its next
    word on a pipe that nobody reads. It runs in a session of its own, where Ctrl-C in the terminal does not reach it.

    Args:
        directory: Where it runs.
        limit_s: After so many seconds it gets SIGINT.
        grace_s: So many seconds after SIGINT it is killed, with all that it started.
        is_stopping: Whether a person wants to stop. The program gets SIGINT then, too.
        started: Is told the number of the process.

    Raises:
        OSError: The program can't be started.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            started(process.pid)
            was_late = _wait(process, time.monotonic() + limit_s, grace_s, is_stopping)
        except BaseException:  # a second Ctrl-C, or a fault: nothing is left running behind
            _interrupt(process)
            _end(process, grace_s)
            raise
        return Ended(process.returncode, _read(out), _read(err), was_late)


def _wait(process: subprocess.Popen[bytes], deadline: float, grace_s: float, is_stopping: Callable[[], bool]) -> bool:
    """Waits until the program has ended. Returns whether it was stopped because its time was over."""
    while not _has_ended(process, POLL_S):
        is_late = time.monotonic() >= deadline
        if is_late or is_stopping():
            _interrupt(process)
            _end(process, grace_s)
            return is_late
    return False


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)


def _end(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """Waits for a program that was asked to stop, and kills it where it takes too long."""
    try:
        process.wait(grace_s)
    except BaseException as error:
        end_group(process)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def _has_ended(process: subprocess.Popen[bytes], within_s: float) -> bool:
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")
