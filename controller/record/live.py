"""The live view of the main job: what the loop tells, drawn in place on a terminal.

What others print meanwhile (a warning, a traceback) goes above the view, whole lines at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from controller.domain import Decision, Move, Observation, Progress
from controller.record.journal import Journal
from controller.record.summary import summarise
from controller.record.view import Drawing, RunView

REFRESH_PER_S = 2.0


class LiveReporter:
    """A Reporter that keeps a view up to date. Its `view` may be drawn at any time, by any thread."""

    def __init__(self, view: RunView, cluster_usd_per_hour: Callable[[Observation], float]) -> None:
        self.view, self._cluster_usd_per_hour = view, cluster_usd_per_hour

    def note(self, at: float, message: str) -> None:
        self.view.note(at, message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        self.view.see(summarise(observation, self._cluster_usd_per_hour(observation)), spent_usd)

    def decided(self, decision: Decision) -> None:
        self.view.decide(decision)

    def moved(self, at: float, move: Move, note: str) -> None:
        self.view.step(at, move, note)


def view_of(journal: Journal, usd_per_hour: Mapping[str, float]) -> RunView:
    """The view of a run, as far as its name and its beginning."""
    info = journal.info()
    return RunView(info.run, info.environment, info.policy, info.started_at, info.initial, usd_per_hour)


@contextmanager
def shown(view: RunView, console: Console | None = None, now: Callable[[], float] = time.time) -> Iterator[None]:
    """While inside, the view stands at the bottom of the terminal; its last state stays there."""
    with Live(
        Drawing(view, now),
        console=console or Console(),
        refresh_per_second=REFRESH_PER_S,
        vertical_overflow="crop",
        transient=False,
    ):
        yield
