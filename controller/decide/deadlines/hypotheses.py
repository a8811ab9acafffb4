"""How long spot capacity stays and stays away: a few hypotheses, weighed by what was seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from controller.decide.deadlines.seen import Stays

Floats = npt.NDArray[np.float64]

STAYS_H = np.array([0.3, 1.0, 3.0, 10.0, 40.0])
"""How long capacity stays, and how long it stays away, by hypothesis: the mean in hours."""


def weights(stays: Stays) -> tuple[Floats, Floats]:
    """Returns how likely each hypothesis is: of how long capacity stays, and of how long it stays away.

    Stays are exponential, so that `n` ends in a time `t` have the likelihood `rate^n exp(-rate t)`. Each hypothesis is as likely as
    the others before anything was seen: Bayes on a grid (Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.7).
    """
    return _weights(stays.losses, stays.up_s), _weights(stays.returns, stays.down_s)


def _weights(ends: float, seconds: float) -> Floats:
    log = -ends * np.log(STAYS_H) - seconds / 3600 / STAYS_H
    likely = np.exp(log - log.max())
    return np.asarray(likely / likely.sum())
