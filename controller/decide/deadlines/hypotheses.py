"""How long spot capacity stays, and how long it stays away.

Both are far from exponential: what has just come or gone changes again soon, and what has lasted lasts. So each stay
belongs to one of a few classes with exponential lengths, whose means are `MEANS_H`, and its age tells which (a
hyperexponential distribution; Feldmann and Whitt, Fitting mixtures of exponentials to long-tail distributions,
Performance Evaluation 31, 1998). How often a pool has stays of each class is its kind: one of the rows of `STAYS` and
one of those of `ABSENCES`. Its earlier stays tell which.

Where costs are worked out ahead, a stay is known by its age and not by its class, which nobody sees: if the class were
taken as known from the next step on, it would always seem best to look once more before anything is begun.

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
    return np.asarray(met / met.sum(axis=1, keepdims=True))


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


AGES_H = np.array([0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf])
"""A stay is in one of the spans between these ages."""
SPANS = len(AGES_H) - 1
_MIDDLES_H = np.append((AGES_H[:-2] + AGES_H[1:-1]) / 2, 1.5 * AGES_H[-2])


def spent_in_spans(kinds: Floats, since_h: float = 0.0) -> Floats:
    """Returns how long a stay of each kind is in each span of ages on average, from an age on: (kinds, spans), hours.

    It is the integral of the chance to get older than t. In proportion to it are the ages of a stay that went on when
    it was first seen, which was `since_h` ago.
    """
    ages_h = np.maximum(AGES_H, since_h)
    older = kinds[:, None, :] * MEANS_H * np.exp(-ages_h[:, None] / MEANS_H)  # (kinds, ages, classes)
    return np.asarray(-np.diff(older.sum(axis=2)))


def at_age(kinds: Floats, age_s: float, is_first: bool) -> Floats:
    """Returns how likely a stay of each kind is in each span of ages, (kinds, spans), in sum 1 for each kind.

    Args:
        kinds: `STAYS` or `ABSENCES`.
        age_s: How long it was seen to last.
        is_first: Whether it went on already when it was first seen, so that it may be older.
    """
    if is_first:
        spent = spent_in_spans(kinds, age_s / 3600)
        return np.asarray(spent / spent.sum(axis=1, keepdims=True))
    place = np.interp(age_s / 3600, _MIDDLES_H, np.arange(SPANS))
    near = np.maximum(0.0, 1 - np.abs(np.arange(SPANS) - place))
    return np.tile(near, (len(kinds), 1))


def ageing(kinds: Floats, step_h: float) -> Floats:
    """Returns the chances that a stay in a span of ages is in each span after a step: (kinds, spans, spans).

    What is lacking to 1 is the chance that it ends. Spans are left at constant rates, which are those of a stay at any
    moment of the span.
    """
    older = kinds @ np.exp(-AGES_H[:, None] / MEANS_H).T  # (kinds, ages)
    spent = spent_in_spans(kinds)
    rates = np.zeros((len(kinds), SPANS, SPANS))
    here = np.arange(SPANS)
    rates[:, here, here] = -older[:, :-1] / spent
    rates[:, here[:-1], here[1:]] = older[:, 1:-1] / spent[:, :-1]
    parts = 2**12
    return np.asarray(np.linalg.matrix_power(np.eye(SPANS) + rates * step_h / parts, parts))
