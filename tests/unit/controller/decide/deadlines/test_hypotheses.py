"""What is believed of how long capacity stays and stays away."""

from __future__ import annotations

import math

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
    kinds_alone,
    kinds_and_classes,
    log_likelihood,
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


@pytest.mark.parametrize(("age_h", "spans"), [(0.35, {1: 1.0}), (0.225, {0: 0.5, 1: 0.5}), (0.65, {1: 0.25, 2: 0.75})])
def test_an_age_between_the_middles_of_two_spans_belongs_to_both(age_h: float, spans: dict[int, float]) -> None:
    shares = [spans.get(span, 0.0) for span in range(SPANS)]
    for ages in at_age(ABSENCES, age_h * 3600, is_first=False):
        assert ages == pytest.approx(shares, abs=1e-6)


def chance(kind: Floats, age_h: float, is_first: bool) -> list[float]:
    """Returns how likely a stay of each class is that has lasted so long, by the definition."""
    mean_h = float((kind * MEANS_H).sum())
    begun = [share * mean / mean_h if is_first else share for share, mean in zip(kind, MEANS_H, strict=True)]
    return [share * math.exp(-age_h / mean) for share, mean in zip(begun, MEANS_H, strict=True)]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("kinds", [STAYS, ABSENCES])
def test_a_length_is_as_likely_as_the_density_of_its_classes(kinds: Floats, is_first: bool) -> None:
    expected = [
        math.log(sum(one / mean for one, mean in zip(chance(kind, 1.5, is_first), MEANS_H, strict=True)))
        for kind in kinds
    ]
    assert log_likelihood(kinds, 5400.0, is_first) == pytest.approx(expected)


@pytest.mark.parametrize("is_first", [True, False])
def test_kinds_and_classes_follow_from_earlier_stays_and_from_the_age_of_this_one(is_first: bool) -> None:
    earlier = (-3.0, -1.0, -2.0)
    expected = np.array(
        [np.exp(log) * np.array(chance(kind, 1.5, is_first)) for log, kind in zip(earlier, ABSENCES, strict=True)]
    )
    found = kinds_and_classes(ABSENCES, earlier, 5400.0, is_first)
    assert found == pytest.approx(expected / expected.sum())


@pytest.mark.parametrize("least", [-1.0, -2000.0])
def test_a_kind_is_as_likely_as_its_earlier_stays_however_unlikely_all_of_them_are(least: float) -> None:
    earlier = (least, least + math.log(3), least)
    assert kinds_alone(earlier) == pytest.approx([0.2, 0.6, 0.2])
    by_kind = kinds_and_classes(ABSENCES, earlier, 0.0, False).sum(axis=1)
    assert by_kind == pytest.approx([0.2, 0.6, 0.2])


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
