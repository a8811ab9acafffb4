"""How long the slowest rank computes in a step, told apart from ranks whose windows have outliers.

A median of a window's steps has a heavy tail: something else may have run on the node. Of dozens of ranks there is
nearly always one with such a window, which is shorter than the step and longer than what the others compute. It did not
hold up the step. A rank that does is slow in its windows before and after as well.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from controller.decide.samples.windows import Samples, expected_error, median
from controller.decide.settings import DecideSettings
from controller.domain import Fact

EVEN_SIGMAS = 3.0
"""Ranks compute equally long where their windows differ by no more than so many standard errors."""
NEIGHBOURS = 3
"""So many of a rank's windows, its own and those next to it, tell how fast it was."""


@dataclass(frozen=True)
class Slowest:
    """The slowest rank of a step, by the windows of all ranks."""

    samples: Samples
    settings: DecideSettings

    def seconds(self, facts: Sequence[Fact], at: float, iteration_s: float) -> float:
        """Returns the seconds that the slowest rank computes in a step.

        Where ranks compute equally long, the longest of their windows is the one with the most noise, so the middle one
        tells. A window in which a rank computed for longer than the step took is an outlier.

        Args:
            facts: The usable facts of one observation.
            at: When it was made.
            iteration_s: How long a step took.
        """
        noise = math.exp(EVEN_SIGMAS * expected_error(median([fact.window for fact in facts])))
        sound = [fact for fact in facts if _computed_s(fact) <= iteration_s * noise] or facts
        middle = median([_computed_s(fact) for fact in sound])
        slow = [fact for fact in sound if _computed_s(fact) > middle * noise]
        slowest = max((self._steady_s(fact, at) for fact in slow), default=middle)
        return slowest if slowest > middle * noise else middle

    def _steady_s(self, fact: Fact, at: float) -> float:
        """Returns the seconds that a rank's tokens take at the middle pace of the windows around this one.

        Of two windows the faster one tells: a rank may be slow by accident, but not fast.
        """
        windows = self.samples.get(fact.flavor, {}).get(fact.instance_id, ())
        here = bisect_right(windows, at, key=lambda window: window.at) - 1
        first = max(0, min(here - 1, len(windows) - NEIGHBOURS))
        paces = sorted(-window.log_speed for window in windows[first : first + NEIGHBOURS])
        if not paces or not fact.tokens:
            return _computed_s(fact)
        return min(_computed_s(fact), fact.tokens * math.exp(paces[(len(paces) - 1) // 2]))


def _computed_s(fact: Fact) -> float:
    return fact.compute_time_s or 0.0
