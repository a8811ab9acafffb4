"""How many tokens a step has, and how long a step of the present fleet takes, as measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from controller.decide.samples.windows import is_usable, median
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation, Progress
from controller.domain.batches import Batches

RECENT_STEP_TIMES = 5
SETTLED_IMBALANCE = 1.25
"""How much longer than with an even division of the work the slowest rank may take once batches are balanced."""


def tokens_per_step(
    observations: Sequence[Observation], progress: Progress | None, settings: DecideSettings
) -> float | None:
    """Returns the target tokens of a step over all ranks; None while unknown.

    They come from the progress, or else from the observations in which all ranks report.
    """
    if progress is not None and progress.tokens_per_step:
        return progress.tokens_per_step
    totals = []
    for observation in observations:
        usable = _usable(observation, settings)
        if usable and all(fact.world_size == len(usable) for fact in usable):
            totals.append(sum(fact.tokens for fact in usable if fact.tokens))
    return median(totals) if totals else None


def measured_step_time_s(observations: Sequence[Observation], current: Fleet, settings: DecideSettings) -> float | None:
    """Returns the seconds of a step of the present fleet, as measured lately; None while it was not measured.

    Unlike the model, the measurement includes bad nodes, stragglers and whatever else is wrong with these very nodes.
    """
    times: list[float] = []
    for observation in reversed(observations):
        if observation.fleet != current or len(times) >= RECENT_STEP_TIMES:
            break
        of_all = [fact for fact in _usable(observation, settings) if fact.world_size == current.size]
        sound = [f.iteration_time_s for f in of_all if f.iteration_time_s and 0 < f.iteration_time_s < math.inf]
        if sound:
            times.append(median(sound) - _passing_s(of_all, settings))
    return median(times) if times else None


def _usable(observation: Observation, settings: DecideSettings) -> list[Fact]:
    return [fact for fact in observation.facts if is_usable(fact, observation.at, settings)]


def _passing_s(facts: Sequence[Fact], settings: DecideSettings) -> float:
    """Returns the seconds by which ranks hold a step up because their share of the batch is being adapted."""
    if settings.batches is Batches.EQUAL:
        return 0.0
    work = [(fact.tokens, fact.compute_time_s) for fact in facts if fact.tokens and fact.compute_time_s]
    even_s = sum(tokens for tokens, _ in work) / sum(tokens / seconds for tokens, seconds in work)
    return max(0.0, max(seconds for _, seconds in work) - SETTLED_IMBALANCE * even_s)
