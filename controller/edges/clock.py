"""Time, and the wish of a person to stop, as the loop sees them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from controller.domain.errors import StoppedError


class Clock(Protocol):
    """The time of day, and waiting."""

    def now(self) -> float:
        """Returns the seconds since the Unix epoch."""

    def sleep(self, seconds: float) -> None:
        """Lets time pass. Raises StoppedError as soon as a person asks to stop."""


class SystemClock:
    """The machine's clock. Ctrl-C and SIGTERM end a wait; a second Ctrl-C interrupts whatever is going on."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def now(self) -> float:
        """Returns the seconds since the Unix epoch."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Lets time pass. Raises StoppedError as soon as a person asks to stop."""
        if self._stop.wait(max(0.0, seconds)):
            raise StoppedError("Stopped.")

    def is_stopping(self) -> bool:
        """Returns whether a person has asked to stop."""
        return self._stop.is_set()

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
        if self._stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._stop.set()
