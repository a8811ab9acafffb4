"""How long spot capacity stays, and how long it stays away.

Both are far from exponential: what has just come or gone changes again soon, and what has lasted lasts. So each stay
belongs to one of a few classes with exponential lengths, whose means are `MEANS_H`, and its age tells which (a
hyperexponential distribution; Feldmann and Whitt, Fitting mixtures of exponentials to long-tail distributions,
Performance Evaluation 31, 1998). How often a pool has stays of each class is its kind: one of the rows of `STAYS` and
one of those of `ABSENCES`. Its earlier stays tell which.

The rows are rounded from maximum-likelihood fits to groups of pools in the first half of the availability traces of
V100 of February 2023 (repository skypilot-org/spot-traces), with a kind of stay added that is longer than any of
them, and a kind of absence.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MEANS_H = np.array([0.25, 1.0, 4.0, 16.0, 64.0])
STAYS = np.array(
    [
        [0.50, 0.38, 0.11, 0.01, 0.00],
        [0.31, 0.46, 0.20, 0.02, 0.01],
        [0.20, 0.36, 0.25, 0.15, 0.04],
        [0.10, 0.15, 0.20, 0.25, 0.30],
    ]
)
"""How often capacity that comes belongs to each class, by kind of pool."""
ABSENCES = np.array(
    [
        [0.33, 0.50, 0.15, 0.01, 0.01],
        [0.25, 0.32, 0.40, 0.02, 0.01],
        [0.30, 0.20, 0.15, 0.20, 0.15],
    ]
)
"""How often capacity that goes stays away for a time of each class, by kind of pool."""


def going_on(kinds: Floats) -> Floats:
    """Returns how often a stay that goes on at some moment belongs to each class: long ones are met more often."""
    met = kinds * MEANS_H
    return np.asarray(met / met.sum(axis=-1, keepdims=True))


def classes(kinds: Floats, age_s: float, is_first: bool) -> Floats:
    """Returns how likely each kind and class is that a stay has lasted so long, (kinds, classes), not scaled to 1.

    Args:
        kinds: `STAYS` or `ABSENCES`.
        age_s: How long it was seen to last.
        is_first: Whether it went on already when it was first seen.
    """
    return np.asarray((going_on(kinds) if is_first else kinds) * np.exp(-age_s / 3600 / MEANS_H))


def log_likelihood(kinds: Floats, length_s: float, is_first: bool) -> Floats:
    """Returns the logarithm of how likely each kind is to have a stay that ended after so long."""
    return np.asarray(np.log((classes(kinds, length_s, is_first) / MEANS_H).sum(axis=1)))


def kinds_and_classes(kinds: Floats, earlier: tuple[float, ...], age_s: float, is_first: bool) -> Floats:
    """Returns how likely each kind of pool and class of its stay is, (kinds, classes), in sum 1.

    Args:
        kinds: `STAYS` or `ABSENCES`.
        earlier: The logarithms of how likely its earlier stays are, by kind.
        age_s: How long its stay was seen to last; None of it where there is none.
        is_first: Whether the stay went on already when it was first seen.
    """
    likely = np.exp(np.array(earlier) - max(earlier))[:, None] * classes(kinds, age_s, is_first)
    return np.asarray(likely / likely.sum())


def kinds_alone(earlier: tuple[float, ...]) -> Floats:
    """Returns how likely each kind of pool is by its earlier stays, in sum 1."""
    likely = np.exp(np.array(earlier) - max(earlier))
    return np.asarray(likely / likely.sum())
