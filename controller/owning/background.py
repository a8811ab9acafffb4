"""A thread beside the loop that does one thing again and again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread


class Background:
    """Does one thing again and again, at once when it is woken.

    Args:
        name: The thread's name.
        work: Does it once.
        pause_s: Returns how long to wait, unless it is woken, before the next time, in seconds.
    """

    def __init__(self, name: str, work: Callable[[], None], pause_s: Callable[[], float]) -> None:
        self._work, self._pause_s = work, pause_s
        self._wake, self._stops = Event(), False
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begins with a pause."""
        self._thread.start()

    def wake(self) -> None:
        """Ends the pause now."""
        self._wake.set()

    def stop(self) -> None:
        """Does it no more, from the return of this call on."""
        self._stops = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stops:
            self._wake.wait(self._pause_s())
            self._wake.clear()
            if not self._stops:
                self._work()
