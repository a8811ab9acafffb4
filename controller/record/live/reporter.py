"""The reports of a run while it goes on. The loop speaks to a `Reporter`: lines, the live view or the metrics."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from controller.domain import Decision, Move, Observation, Progress
from controller.record.live.decision_news import DecisionNews
from controller.record.live.observation_line import ObservationNews, describe
from controller.words.times import clock
from controller.words.verdicts import decision_in_words


class Reporter(Protocol):
    """Something that gets each thing as it happens. Times are seconds since the epoch."""

    def note(self, at: float, message: str) -> None:
        """Takes something that a person wants to know: a stage of the run, a trouble, a hint."""

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Takes what a pass has observed, and what the run has cost so far."""

    def decided(self, decision: Decision) -> None:
        """Takes a decision."""

    def moved(self, at: float, move: Move, note: str) -> None:
        """Takes a step of a move."""


class Reporters:
    """Several reporters, told one after the other."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._reporters = tuple(reporters)

    def note(self, at: float, message: str) -> None:
        """Tells every reporter."""
        for reporter in self._reporters:
            reporter.note(at, message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Tells every reporter."""
        for reporter in self._reporters:
            reporter.observed(observation, progress, spent_usd)

    def decided(self, decision: Decision) -> None:
        """Tells every reporter."""
        for reporter in self._reporters:
            reporter.decided(decision)

    def moved(self, at: float, move: Move, note: str) -> None:
        """Tells every reporter."""
        for reporter in self._reporters:
            reporter.moved(at, move, note)


class PlainReporter:
    """Prints one line for each thing, and nothing for what has not changed."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._news = ObservationNews()
        self._decisions = DecisionNews()

    def note(self, at: float, message: str) -> None:
        """Prints a note."""
        self._line(at, message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """Prints an observation that says something new."""
        if self._news.is_new(observation, progress):
            self._line(observation.at, describe(observation, progress, spent_usd))

    def decided(self, decision: Decision) -> None:
        """Prints a decision, unless it is the last one again."""
        if self._decisions.is_new(decision):
            self._line(decision.at, decision_in_words(decision))

    def moved(self, at: float, move: Move, note: str) -> None:
        """Prints a step of a move."""
        self._line(at, f"move {move.move_id} {move.phase.value}: {note}")

    def _line(self, at: float, message: str) -> None:
        print(f"{clock(at)}  {message}", file=self._stream, flush=True)
