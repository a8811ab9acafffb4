"""Tails of Student-t distributions, beside their closed forms for one and two degrees of freedom."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from controller.decide.model.speeds import Speed
from controller.decide.model.tails import student_quantile, student_score


def cauchy(chance: float) -> float:
    """The quantile with one degree of freedom: the Cauchy distribution."""
    return math.tan(math.pi * (chance - 0.5))


def with_two(chance: float) -> float:
    """The quantile with two degrees of freedom (Shaw, "Sampling Student's T distribution", 2006, section 4.1)."""
    return (2 * chance - 1) / math.sqrt(2 * chance * (1 - chance))


@pytest.mark.parametrize("z", [-3.0, -1.0, 0.0, 0.32, 1.0, 2.6])
def test_a_quantile_is_as_unlikely_as_that_of_the_normal_distribution(z: float) -> None:
    chance = NormalDist().cdf(z)
    assert student_quantile(z, 1.0) == pytest.approx(cauchy(chance), abs=1e-9)
    assert student_quantile(z, 2.0) == pytest.approx(with_two(chance), abs=1e-9)
    assert student_quantile(z, math.inf) == z
    assert student_quantile(z, 1e7) == pytest.approx(z, abs=1e-5)


@pytest.mark.parametrize("freedom", [1.0, 2.0, 3.0, 9.0, math.inf])
def test_one_standard_error_stays_what_it_is_and_the_tails_reach_out(freedom: float) -> None:
    assert [student_score(z, freedom) for z in (-1.0, 0.0, 1.0)] == pytest.approx([-1.0, 0.0, 1.0])
    assert student_score(2.6, 2.0) == pytest.approx(with_two(NormalDist().cdf(2.6)) / with_two(NormalDist().cdf(1.0)))
    assert student_score(2.6, 3.0) > student_score(2.6, 9.0) > student_score(2.6, math.inf) == 2.6


def test_a_speed_whose_spread_is_uncertain_may_be_far_off() -> None:
    sure, unsure = Speed(100.0, 0.5), Speed(100.0, 0.5, freedom=3.0)
    assert (unsure.at(1.0), unsure.at(-1.0)) == pytest.approx((sure.at(1.0), sure.at(-1.0)))
    assert unsure.at(2.6) == pytest.approx(100.0 * math.exp(0.5 * student_score(2.6, 3.0)))
    assert unsure.low < sure.low < sure.high < unsure.high


@pytest.mark.parametrize("freedom", [3.0, 7.0])
def test_the_standard_deviation_counts_the_tails(freedom: float) -> None:
    """Beside the mean square over the quantiles of the middles of a million equal chances."""
    chances = (np.arange(1_000_000) + 0.5) / 1_000_000
    mean_square = float(np.mean((student.ppf(chances, freedom) / student.ppf(norm.cdf(1.0), freedom)) ** 2))
    assert Speed(100.0, 0.5, freedom=freedom).log_sd ** 2 == pytest.approx(0.25 * mean_square, rel=0.03)
    assert Speed(100.0, 0.5).log_sd == 0.5
