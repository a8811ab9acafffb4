"""What is believed of how long capacity stays and stays away."""

from __future__ import annotations

import numpy as np
import pytest

from controller.decide.deadlines.hypotheses import (
    ABSENCES,
    AGES_H,
    MEANS_H,
    SPANS,
    STAYS,
    Floats,
    ageing,
    at_age,
    spent_in_spans,
)


@pytest.mark.parametrize("kinds", [STAYS, ABSENCES])
def test_the_time_spent_in_all_spans_is_the_mean_length(kinds: Floats) -> None:
    assert spent_in_spans(kinds).sum(axis=1) == pytest.approx(kinds @ MEANS_H)


def test_a_stay_that_was_seen_from_its_beginning_has_one_age() -> None:
    ages = at_age(STAYS, 3 * 3600.0, is_first=False)
    assert ages.sum(axis=1) == pytest.approx(1) and (ages[:, 4] > 0.99).all()
    assert (at_age(STAYS, 0.0, is_first=False)[:, 0] == 1).all()
    assert (at_age(STAYS, 100 * 3600.0, is_first=False)[:, -1] == 1).all()


def test_a_stay_that_went_on_before_is_at_least_as_old_as_it_was_seen() -> None:
    ages = at_age(STAYS, 3600.0, is_first=True)
    assert ages.sum(axis=1) == pytest.approx(1)
    assert (ages[:, AGES_H[1:] <= 1.0] == 0).all() and (ages[:, -1] > at_age(STAYS, 0.0, is_first=True)[:, -1]).all()


def test_what_has_lasted_is_less_likely_to_end() -> None:
    lasts = ageing(STAYS, 0.25).sum(axis=2)
    assert lasts.shape == (len(STAYS), SPANS)
    assert (np.diff(lasts, axis=1) > 0).all() and (lasts < 1).all()


def test_ageing_by_many_small_steps_is_ageing_by_one() -> None:
    many = np.linalg.matrix_power(ageing(ABSENCES, 0.1), 20)
    assert many == pytest.approx(ageing(ABSENCES, 2.0), abs=2e-3)


@pytest.mark.parametrize("kind", range(len(STAYS)))
def test_as_many_stays_last_as_their_classes_say(kind: int) -> None:
    """Begun at age 0 and aged for 4 h, about as many are left as of the mixture of exponentials."""
    left = np.linalg.matrix_power(ageing(STAYS, 0.25)[kind], 16)[0].sum()
    assert left == pytest.approx(float(STAYS[kind] @ np.exp(-4 / MEANS_H)), rel=0.25)
