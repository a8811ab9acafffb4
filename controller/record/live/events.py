"""What people are told while a run goes on. The loop speaks to a Reporter; a live view is another Reporter."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Protocol, TextIO

from controller.domain import Decision, Fleet, Move, Observation, Progress, TrainingState, Verdict
from controller.words.reasons import reason_in_words


class Reporter(Protocol):
    """Told of each thing as it happens. Times are seconds since the epoch."""

    def note(self, at: float, message: str) -> None:
        """Something a person wants to know: a stage of the run, a trouble, a hint."""

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        """A pass has observed the fleet."""

    def decided(self, decision: Decision) -> None:
        """A decision was made."""

    def moved(self, at: float, move: Move, note: str) -> None:
        """A move has taken a step."""


class PlainReporter:
    """One line for each thing, for terminals and logs alike; what has not changed is not said again."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._said: tuple[Verdict, Fleet, str] | None = None

    def note(self, at: float, message: str) -> None:
        self._line(at, message)

    def observed(self, observation: Observation, progress: Progress | None, spent_usd: float) -> None:
        self._line(observation.at, describe(observation, progress, spent_usd))

    def decided(self, decision: Decision) -> None:
        reason = reason_in_words(decision.reason)
        said = (decision.verdict, decision.target, "" if decision.verdict is Verdict.MOVE else reason)
        if said != self._said:  # what a move saves shrinks with the work that remains, as it waits for people
            self._line(decision.at, f"{_VERBS[decision.verdict]}: {reason}")
        self._said = said

    def moved(self, at: float, move: Move, note: str) -> None:
        self._line(at, f"move {move.move_id} {move.phase.value}: {note}")

    def _line(self, at: float, message: str) -> None:
        print(f"{datetime.fromtimestamp(at):%H:%M:%S}  {message}", file=self._stream, flush=True)


_VERBS = {Verdict.MOVE: "move", Verdict.STAY: "stay", Verdict.REFUSE: "no move"}


def describe(observation: Observation, progress: Progress | None, spent_usd: float) -> str:
    """An observation in one line."""
    training = [fact for fact in observation.facts if fact.state is TrainingState.TRAINING]
    times = [fact.iteration_time_s for fact in training if fact.iteration_time_s is not None]
    losses = [fact.loss for fact in training if fact.loss is not None]
    parts = [str(observation.fleet)]
    if progress is not None:
        parts.append(f"step {progress.step} of {progress.total_steps}")
    if losses:
        parts.append(f"loss {losses[0]:.2f}")
    if times:
        parts.append(f"{max(times):.2f} s a step")
    parts.append(f"{len(training)} ranks train")
    if observation.unknown:
        parts.append(f"{len(observation.unknown)} unknown")
    return ", ".join(parts) + f", {spent_usd:.4f} $ spent"
