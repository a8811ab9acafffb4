"""The live view of the main job, drawn in place on a terminal.

Whenever the loop reports something, the view is brought up to date from the journal. What others print meanwhile (a
warning, a traceback) goes above the view, whole lines at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from controller.domain import Decision, Move, Observation, Progress
from controller.record.live.drawing import Drawing
from controller.record.live.run_view import RunView
from controller.record.live.watcher import Watcher

REFRESH_PER_S = 2.0


class LiveReporter:
    """A reporter that makes a watcher look into the journal, where everything is kept before it is reported."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def note(self, at: float, message: str) -> None:
        """Looks."""
        self._watcher.look(at)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Looks."""
        self._watcher.look(observation.at)

    def decided(self, decision: Decision) -> None:
        """Looks."""
        self._watcher.look(decision.at)

    def moved(self, at: float, move: Move, note: str) -> None:
        """Looks."""
        self._watcher.look(at)


@contextmanager
def shown(view: RunView, console: Console | None = None, now: Callable[[], float] = time.time) -> Iterator[None]:
    """Shows the view at the bottom of the terminal until the block ends. The last state of the view stays there."""
    with Live(
        Drawing(view, now),
        console=console or Console(),
        refresh_per_second=REFRESH_PER_S,
        vertical_overflow="crop",
    ):
        yield
