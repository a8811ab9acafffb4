"""What was seen of spot capacity that came and went."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from controller.decide.deadlines.hypotheses import ABSENCES, STAYS, log_likelihood

MEMORY_S = 96 * 3600.0
"""What was seen so long ago counts 1/e of what is seen now: pools change within days."""


@dataclass(frozen=True)
class Stays:
    """How the capacity of a pool came and went.

    Attributes:
        is_up: Whether it has capacity.
        age_s: For how long it was seen to be so.
        is_first: Whether it was so at the first look, so that it is older than `age_s`.
        stays: How likely the stays that ended are, by kind of pool (`hypotheses.STAYS`): logarithms.
        absences: How likely the absences that ended are, by kind of pool (`hypotheses.ABSENCES`): logarithms.
    """

    is_up: bool
    age_s: float = 0.0
    is_first: bool = True
    stays: tuple[float, ...] = (0.0,) * len(STAYS)
    absences: tuple[float, ...] = (0.0,) * len(ABSENCES)

    def after(self, is_up: bool, passed_s: float) -> Stays:
        """Returns what is known at the next look."""
        kept, age_s = math.exp(-passed_s / MEMORY_S), self.age_s + passed_s
        stays, absences = kept * np.array(self.stays), kept * np.array(self.absences)
        if is_up == self.is_up:
            return replace(self, age_s=age_s, stays=tuple(stays), absences=tuple(absences))
        if self.is_up:
            stays += log_likelihood(STAYS, age_s, self.is_first)
        else:
            absences += log_likelihood(ABSENCES, age_s, self.is_first)
        return Stays(is_up, 0.0, False, tuple(stays), tuple(absences))


@dataclass(frozen=True)
class Covered:
    """How often another pool had capacity when one lost its own."""

    losses: float = 0.0
    covered: float = 0.0

    def after(self, losses: int, is_covered: bool) -> Covered:
        """Returns what is known after so many more losses at one look."""
        return Covered(self.losses + losses, self.covered + (losses if is_covered else 0))


@dataclass(frozen=True)
class Seen:
    """What was seen of some pools.

    Attributes:
        pools: What was seen of each; empty before the first look.
        together: What was seen of them as one pool, which has capacity where any has.
        alone: How often a loss was covered where no other pool had capacity at the look before.
        beside: How often a loss was covered where another pool had capacity at the look before.
    """

    pools: tuple[Stays, ...] = ()
    together: Stays | None = None
    alone: Covered = Covered()
    beside: Covered = Covered()

    def after(self, available: Iterable[bool], passed_s: float) -> Seen:
        """Returns what is known after another look, so long after the last."""
        now = tuple(available)
        if self.together is None:
            return Seen(tuple(Stays(is_up) for is_up in now), Stays(any(now)))
        lost = sum(stays.is_up and not is_up for stays, is_up in zip(self.pools, now, strict=True))
        pools = tuple(stays.after(is_up, passed_s) for stays, is_up in zip(self.pools, now, strict=True))
        together, alone, beside = self.together.after(any(now), passed_s), self.alone, self.beside
        if sum(stays.is_up for stays in self.pools) > 1:
            beside = beside.after(lost, any(now))
        else:
            alone = alone.after(lost, any(now))
        return Seen(pools, together, alone, beside)
