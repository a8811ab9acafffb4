"""Running the commands of a rehearsal, with their output on the screen and in a file."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TAIL_LINES = 25
GRACE_S = 30.0
"""As long as a build may take to end after a command that is ended."""


class RehearsalError(Exception):
    """A step has not come to where it should. The message says what happened, and ends with the last output."""


@dataclass
class Running:
    """A command that runs, and the file that its output goes to."""

    name: str
    process: subprocess.Popen[str]
    output: Path

    def text(self) -> str:
        """Returns the output so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def finish(self, limit_s: float, status: int = 0) -> str:
        """Waits for the end and returns the output.

        Raises:
            RehearsalError: The command takes longer than the limit, or ends with another status.
        """
        try:
            found = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RehearsalError(f"{self.name} took longer than {limit_s:g} s.\n{self.tail()}") from None
        if found != status:
            raise RehearsalError(f"{self.name} ended with {found} and not with {status}.\n{self.tail()}")
        return self.text()

    def wait_for(self, condition: Callable[[], bool], limit_s: float, what: str) -> None:
        """Waits until a condition holds, while the command runs.

        Raises:
            RehearsalError: It does not come to hold in time, or the command has ended.
        """
        end = time.monotonic() + limit_s
        while not condition():
            if self.process.poll() is not None:
                raise RehearsalError(f"{self.name} has ended before {what}.\n{self.tail()}")
            if time.monotonic() > end:
                raise RehearsalError(f"Not within {limit_s:g} s: {what}.\n{self.tail()}")
            time.sleep(0.5)

    def kill(self) -> None:
        """Ends the command and all that it has started. The command itself ends what has a process group of its own."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_S)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def tail(self) -> str:
        """Returns the last lines of the output."""
        return "\n".join(f"    {line}" for line in self.text().splitlines()[-TAIL_LINES:])


def found_in(text: str, pattern: str) -> str:
    """Returns the last line that matches a pattern, or an empty text."""
    lines = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
    return lines[-1] if lines else ""
