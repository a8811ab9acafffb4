"""How long the parts of a move are expected to take: by an assumption, by earlier runs, and by the moves of this run.

Durations spread by a factor, so that their logarithms are taken for normal. What is assumed is the prior, with the
standard deviation `ASSUMED_SD`; of n measurements x with the standard deviation s, the posterior has

    mean = B ln(assumed) + (1 - B) mean(ln x),    B = (s^2 / n) / (s^2 / n + sd^2)

(Gelman et al., "Bayesian Data Analysis", 3rd edition, section 2.5). Earlier runs come first; since something may have
changed since, `BETWEEN_RUNS_SD` widens what they say before the measurements of this run are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from controller.decide.settings import SwitchingAssumptions
from controller.domain.move import Durations, MovePart

ASSUMED_SD = 1.0
"""An assumption may well be wrong by a factor of e."""
BETWEEN_RUNS_SD = 0.25
WITHIN_SD = 0.3
"""How much the same part of two moves differs, before that is measured."""
WITHIN_WEIGHT = 4.0
"""How many measurements `WITHIN_SD` is worth."""
SHORTEST_S = 0.01
"""A shorter duration counts as this long: it has no logarithm at 0."""


@dataclass(frozen=True)
class Duration:
    """How long a part of a move is expected to take.

    Attributes:
        seconds: The expected duration, as the median.
        log_sd: The standard deviation of the logarithm of the next one.
        measured: How many measurements it rests on.
    """

    seconds: float
    log_sd: float
    measured: int


def expected(assumed_s: float, earlier_s: Sequence[float], measured_s: Sequence[float]) -> Duration:
    """Returns how long a part is expected to take.

    Args:
        assumed_s: The assumption; at 0 there is none, and what was measured counts alone.
        earlier_s: What earlier runs have measured.
        measured_s: What this run has measured.
    """
    logs = [[math.log(max(one, SHORTEST_S)) for one in each] for each in (earlier_s, measured_s)]
    within = _within_variance(logs)
    is_known, mean, variance = assumed_s > 0, math.log(max(assumed_s, SHORTEST_S)), ASSUMED_SD**2
    for number, each in enumerate(logs):
        if each and not is_known:
            is_known, mean, variance = True, fmean(each), within / len(each)
        elif each:
            pull = (within / len(each)) / (within / len(each) + variance)
            mean, variance = pull * mean + (1 - pull) * fmean(each), pull * variance
        if each and not number:
            variance += BETWEEN_RUNS_SD**2
    seconds = math.exp(mean) if is_known else 0.0
    return Duration(seconds, math.sqrt(variance + within), sum(map(len, logs)))


def learned(assumed: SwitchingAssumptions, earlier: Durations, measured: Durations) -> SwitchingAssumptions:
    """Returns what a move is expected to take, by the assumptions and by what was measured."""
    found = {
        f"{part.value}_s": expected(
            getattr(assumed, f"{part.value}_s"), earlier.get(part, ()), measured.get(part, ())
        ).seconds
        for part in MovePart
        if earlier.get(part) or measured.get(part)
    }
    return replace(assumed, **found)


def _within_variance(logs: Sequence[Sequence[float]]) -> float:
    """Returns the variance of logarithms within a run, shrunk to `WITHIN_SD`."""
    deviations = [(one - fmean(each)) ** 2 for each in logs if each for one in each]
    freedom = sum(len(each) - 1 for each in logs if each)
    return (WITHIN_WEIGHT * WITHIN_SD**2 + sum(deviations)) / (WITHIN_WEIGHT + freedom)
