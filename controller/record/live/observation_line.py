"""An observation in one line, and whether the line says anything new."""

from __future__ import annotations

from controller.domain import Fleet, Observation, Progress, TrainingState
from controller.words.numbers import UNKNOWN, usd

PROGRESS_EVERY_S = 30.0
"""While nothing but the progress changes, it is reported this often."""
PROGRESS_SHARES = 10
"""Each of so many equal parts of the training is reported as well."""


class ObservationNews:
    """Which observations a person wants to read: those that differ in more than a few steps from the last one told."""

    def __init__(self) -> None:
        self._told: tuple[Fleet, int, int, int] | None = None
        self._told_at, self._told_step = 0.0, 0

    def is_new(self, observation: Observation, progress: Progress | None) -> bool:
        """Returns whether to report an observation, which then counts as reported."""
        step = progress.step if progress else 0
        now = (observation.fleet, len(observation.unknown), _ranks_training(observation), _part(progress))
        is_due = step != self._told_step and observation.at - self._told_at >= PROGRESS_EVERY_S
        if now == self._told and not is_due:
            return False
        self._told, self._told_at, self._told_step = now, observation.at, step
        return True


def describe(observation: Observation, progress: Progress | None, spent_usd: float) -> str:
    """Returns an observation in one line."""
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
    return ", ".join([*parts, f"{usd(spent_usd, UNKNOWN)} spent"])


def _ranks_training(observation: Observation) -> int:
    return sum(fact.state is TrainingState.TRAINING for fact in observation.facts)


def _part(progress: Progress | None) -> int:
    """Returns how many of the training's equal parts are done."""
    if progress is None or not progress.total_steps:
        return 0
    return PROGRESS_SHARES * progress.step // progress.total_steps
