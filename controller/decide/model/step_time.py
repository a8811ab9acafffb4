"""How many tokens a step has, and how long a step of the present fleet takes, as measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from controller.decide.samples.slowest import Slowest
from controller.decide.samples.windows import is_usable, median, samples_of
from controller.decide.settings import DecideSettings
from controller.domain import Fact, Fleet, Observation, Progress
from controller.domain.batches import Batches

RECENT_STEP_TIMES = 5
RECENT_TOTALS = 3
"""After so many windows with other tokens than before, the batch has changed."""
OTHER_BATCH = 0.10
"""How far the tokens of a step must lie from their mean, as a share, for the batch to have changed."""
SETTLED_IMBALANCE = 1.25
"""How much longer than with an even division of the work the slowest rank may take once batches are balanced."""


def tokens_per_step(
    observations: Sequence[Observation], progress: Progress | None, settings: DecideSettings
) -> float | None:
    """Returns the target tokens of a step over all ranks; None while unknown.

    They come from the progress, or else from the observations in which all ranks report. Where the last windows agree
    on another number than the progress, the batch has changed: what they tell is expected of the steps that remain.
    """
    if progress is not None and progress.tokens_per_step:
        mean = progress.tokens_per_step
        recent = _recent_totals(observations, settings)
        has_changed = len(recent) == RECENT_TOTALS and (
            min(recent) > mean * (1 + OTHER_BATCH) or max(recent) < mean / (1 + OTHER_BATCH)
        )
        return median(recent) if has_changed else mean
    totals = [total for one in observations if (total := _total(_usable(one, settings))) is not None]
    return median(totals) if totals else None


def _recent_totals(observations: Sequence[Observation], settings: DecideSettings) -> list[float]:
    """Returns the tokens of a step in the last windows, at most `RECENT_TOTALS` that do not overlap, latest first."""
    totals: list[float] = []
    before = math.inf
    for observation in reversed(observations):
        usable = _usable(observation, settings)
        total = _total(usable)
        if total is None or max(fact.step for fact in usable) > before:
            continue
        totals.append(total)
        before = min(fact.step - fact.window for fact in usable)
        if len(totals) == RECENT_TOTALS:
            break
    return totals


def _total(facts: Sequence[Fact]) -> float | None:
    """Returns the tokens of a step over all ranks; None where not all ranks report, nor their shares of the batch."""
    tokens = sum(fact.tokens for fact in facts if fact.tokens)
    if facts and all(fact.world_size == len(facts) for fact in facts):
        return tokens
    shares = [fact.share for fact in facts if fact.share]
    return tokens / sum(shares) if shares and len(shares) == len(facts) else None


def measured_step_time_s(
    observations: Sequence[Observation], current: Fleet, settings: DecideSettings, slowest: Slowest | None = None
) -> float | None:
    """Returns the seconds of a step of the present fleet, as measured lately; None while it was not measured.

    Unlike the model, the measurement includes bad nodes, stragglers and whatever else is wrong with these very nodes.

    Args:
        observations: What was seen.
        current: The present fleet.
        settings: What a usable fact is.
        slowest: What tells the slowest rank, where the windows are worked out already.
    """
    slowest = slowest or Slowest(samples_of(observations, settings), settings)
    times: list[float] = []
    for observation in reversed(observations):
        if observation.fleet != current or len(times) >= RECENT_STEP_TIMES:
            break
        of_all = [fact for fact in _usable(observation, settings) if fact.world_size == current.size]
        sound = [f.iteration_time_s for f in of_all if f.iteration_time_s and 0 < f.iteration_time_s < math.inf]
        if sound:
            iteration_s = median(sound)
            times.append(iteration_s - _passing_s(of_all, observation.at, iteration_s, slowest))
    return median(times) if times else None


def _usable(observation: Observation, settings: DecideSettings) -> list[Fact]:
    return [fact for fact in observation.facts if is_usable(fact, observation.at, settings)]


def _passing_s(facts: Sequence[Fact], at: float, iteration_s: float, slowest: Slowest) -> float:
    """Returns the seconds by which ranks hold a step up because their share of the batch is being adapted."""
    if slowest.settings.batches is Batches.EQUAL:
        return 0.0
    work = [(fact.tokens, fact.compute_time_s) for fact in facts if fact.tokens and fact.compute_time_s]
    even_s = sum(tokens for tokens, _ in work) / sum(tokens / seconds for tokens, seconds in work)
    return max(0.0, slowest.seconds(facts, at, iteration_s) - SETTLED_IMBALANCE * even_s)
