"""Time, and the wish of a person to stop, as the loop sees them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from controller.domain.errors import StoppedError

LONGEST_WAIT_S = 5.0


class Clock(Protocol):
    """The time of day, and waiting."""

    def now(self) -> float:
        """Returns the seconds since the Unix epoch."""

    def sleep(self, seconds: float) -> None:
        """Lets time pass. Raises StoppedError as soon as a person asks to stop."""


class SystemClock:
    """The time of day when the controller started, and what has gone by since.

    So a wait or a deadline stays what it is when somebody sets the machine's own clock while the controller runs. The
    time in which the machine sleeps, such as a laptop that is closed, counts as gone by. Ctrl-C and SIGTERM end a wait;
    a second Ctrl-C interrupts whatever is going on.
    """

    def __init__(self) -> None:
        self._stops = False
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._began_at = time.time() - elapsed_s()

    def now(self) -> float:
        """Returns the seconds since the Unix epoch."""
        return self._began_at + elapsed_s()

    def machine_ahead_s(self) -> float:
        """Returns by how much the machine's clock was set forward since the controller started; below 0: back."""
        return time.time() - self.now()

    def sleep(self, seconds: float) -> None:
        """Lets time pass. Raises StoppedError as soon as a person asks to stop."""
        deadline = elapsed_s() + seconds
        # A wait of select counts neither the time of day nor the time that the machine sleeps: hence the short waits.
        while not self._stops and (left := deadline - elapsed_s()) > 0:
            select.select([self._wake], [], [], min(left, LONGEST_WAIT_S))
        if self._stops:
            raise StoppedError("Stopped.")

    def is_stopping(self) -> bool:
        """Returns whether a person has asked to stop."""
        return self._stops

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Turns SIGINT and SIGTERM, while inside, into the wish to stop at the next safe point."""
        previous = {number: signal.signal(number, self._ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _ask_to_stop(self, number: int, frame: Any) -> None:
        if self._stops and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._stops = True
        os.write(self._waker, b"\0")


def elapsed_s() -> float:
    """Returns the seconds since the machine started, its sleep included. Nobody can set this clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
