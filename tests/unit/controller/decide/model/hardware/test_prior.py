"""The expected speed of flavors that were never measured, beside textbook formulas of ordinary kriging.

Without a hint, a flavor has the speed per vCPU of the measured flavors, or the speed per dollar where vCPUs are
unknown. Flavors of its own family count more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from controller.decide.model.hardware.prior import (
    FAMILY_CORRELATION,
    HINT_LOG_SE,
    OTHER_CORRELATION,
    SCALING,
    SCALING_SD,
    SIGMA_WITHOUT_VCPUS,
    expected_speeds,
)
from controller.decide.model.speeds import Speed
from controller.decide.samples.credits import Burst
from controller.decide.settings import DecideSettings, SpeedSpread
from controller.domain import Flavor

FLAVORS = {
    flavor.name: flavor
    for flavor in (
        Flavor("a.one", vcpus=1),
        Flavor("a.two", vcpus=2),
        Flavor("a.four", vcpus=4),
        Flavor("b.four", vcpus=4),
        Flavor("c.eight", vcpus=8),
        Flavor("c.unknown"),
    )
}
USD_PER_HOUR = {"a.one": 1.0, "a.two": 5.0, "a.four": 0.5, "b.four": 3.0, "c.eight": 7.0, "c.unknown": 2.0}
SPREAD = SpeedSpread(shared=0.3, own=0.15, flavors=4.0)
SIGMA, SIZE_LOG_SE, SPREAD_WEIGHT = SPREAD.shared, SPREAD.own, SPREAD.flavors
SETTINGS = DecideSettings(flavors=FLAVORS, spread=SPREAD)
MEASURED = {"a.one": Speed(300.0, 0.05), "a.two": Speed(500.0, 0.3), "b.four": Speed(2500.0, 0.1)}


def correlation(one: str, other: str) -> float:
    same_family = FAMILY_CORRELATION if one[0] == other[0] else OTHER_CORRELATION
    return 1.0 if one == other else same_family


def alike(one: str, other: str, sigma: float) -> float:
    """Returns the covariance of two flavors. By vCPUs, the power by which speed grows with them is uncertain too."""
    slope = SCALING_SD**2 * math.log(vcpus(one)) * math.log(vcpus(other)) if sigma == SIGMA else 0.0
    return correlation(one, other) * sigma**2 + slope


def covariance(measured: dict[str, Speed], sigma: float, scale: float) -> list[list[float]]:
    """Returns the covariance of the logarithms of speed per size, if flavors spread `scale` times as far (variance)."""

    def entry(one: str, other: str) -> float:
        own = scale * SIZE_LOG_SE**2 + measured[one].log_se ** 2 if one == other else 0.0
        return scale * alike(one, other, sigma) + own

    return [[entry(one, other) for other in measured] for one in measured]


def spread(measured: dict[str, Speed], logs: list[float], sigma: float) -> float:
    """Returns how many times as far as expected the flavors spread, shrunk to 1 (as a variance)."""
    system = np.array(covariance(measured, sigma, 1.0))
    ones = np.ones(len(logs))
    mean = ones @ np.linalg.solve(system, logs) / (ones @ np.linalg.solve(system, ones))
    squares = (logs - mean) @ np.linalg.solve(system, logs - mean)
    return float((SPREAD_WEIGHT + squares) / (SPREAD_WEIGHT + len(logs) - 1))


def kriging(flavor: str, measured: dict[str, Speed], size: Callable[[str], float], sigma: float) -> tuple[float, float]:
    """Returns speed and error by the weights w of the ordinary kriging system: V w + m = t and sum(w) = 1."""
    names, count = [*measured], len(measured)
    logs = [math.log(measured[name].tokens_per_s / size(name)) for name in names]
    scale = spread(measured, logs, sigma)
    system = np.ones((count + 1, count + 1))
    system[:count, :count] = covariance(measured, sigma, scale)
    system[count, count] = 0.0
    towards = np.array([scale * alike(flavor, name, sigma) for name in names])
    *weights, multiplier = np.linalg.solve(system, [*towards, 1.0])
    variance = scale * (alike(flavor, flavor, sigma) + SIZE_LOG_SE**2) - np.dot(weights, towards) - multiplier
    freedom = SPREAD_WEIGHT + count - 1
    deviation = math.sqrt(variance) * student.ppf(norm.cdf(1.0), freedom)
    return size(flavor) * math.exp(np.dot(weights, logs)), deviation


def vcpus(flavor: str) -> float:
    return FLAVORS[flavor].vcpus or math.nan


def scaled_vcpus(flavor: str) -> float:
    return vcpus(flavor) ** SCALING


@pytest.mark.parametrize("flavor", ["a.four", "c.eight"])
@pytest.mark.parametrize("known", [("a.one",), ("a.two",), ("a.two", "b.four"), ("a.one", "a.two", "b.four")])
def test_a_guess_is_the_kriging_of_speed_per_vcpu(flavor: str, known: tuple[str, ...]) -> None:
    measured = {name: MEASURED[name] for name in known}
    found = expected_speeds([flavor], measured, USD_PER_HOUR, SETTINGS)[flavor]
    assert (found.tokens_per_s, found.log_se) == pytest.approx(kriging(flavor, measured, scaled_vcpus, SIGMA))
    assert (found.is_measured, found.steps, found.freedom) == (False, 0, SPREAD_WEIGHT + len(known) - 1)


@pytest.mark.parametrize("settings", [SETTINGS, DecideSettings(spread=SPREAD)], ids=["of this flavor", "of none"])
def test_without_vcpus_a_guess_is_the_kriging_of_speed_per_dollar(settings: DecideSettings) -> None:
    found = expected_speeds(["c.unknown"], MEASURED, USD_PER_HOUR, settings)["c.unknown"]
    expected = kriging("c.unknown", MEASURED, USD_PER_HOUR.__getitem__, SIGMA_WITHOUT_VCPUS)
    assert (found.tokens_per_s, found.log_se) == pytest.approx(expected)
    assert found.is_measured is False


def test_a_measured_flavor_whose_size_is_unknown_tells_nothing_of_others() -> None:
    odd = {**MEASURED, "c.unknown": Speed(1e6, 0.01)}
    assert expected_speeds(["c.eight"], odd, USD_PER_HOUR, SETTINGS) == expected_speeds(
        ["c.eight"], MEASURED, USD_PER_HOUR, SETTINGS
    )


def test_flavors_that_spread_far_make_the_next_guess_less_certain() -> None:
    alike = {"a.one": Speed(300.0, 0.02), "b.four": Speed(1200.0, 0.02), "c.eight": Speed(2400.0, 0.02)}
    apart = {**alike, "b.four": Speed(4800.0, 0.02), "c.eight": Speed(600.0, 0.02)}
    near, far = (expected_speeds(["a.four"], some, USD_PER_HOUR, SETTINGS)["a.four"].log_se for some in (alike, apart))
    assert near < SIGMA < far


@pytest.mark.parametrize(
    ("flavor", "times"),
    [
        (Flavor("x.y", vcpus=8), 8.0**SCALING),
        (Flavor("x.y", vcpus=8, burstable=True, baseline_share=0.25), 8.0**SCALING / 4),
        (Flavor("x.y", vcpus=8, burstable=True), 8.0**SCALING),
        (Flavor("x.y", vcpus=8, baseline_share=0.25), 8.0**SCALING),
    ],
)
def test_of_a_burstable_flavor_the_vcpus_that_it_sustains_count(flavor: Flavor, times: float) -> None:
    settings = DecideSettings(flavors={**FLAVORS, "x.y": flavor})
    found = expected_speeds(["x.y"], {"a.one": Speed(100.0, 0.0)}, {}, settings)["x.y"]
    assert found.tokens_per_s == pytest.approx(100.0 * times)


@pytest.mark.parametrize(
    ("measured", "flavor"),
    [({}, "a.four"), ({}, "c.unknown"), (MEASURED, "new"), ({"new": Speed(100.0, 0.1)}, "a.four")],
    ids=[
        "nothing measured",
        "nothing measured and no vCPUs",
        "neither vCPUs nor price",
        "measured but of no known size",
    ],
)
def test_a_flavor_of_which_nothing_can_be_said_is_left_out(measured: dict[str, Speed], flavor: str) -> None:
    assert expected_speeds([flavor], measured, USD_PER_HOUR, SETTINGS) == {}
    assert [*expected_speeds([flavor, "a.two"], {**measured, **MEASURED}, USD_PER_HOUR, SETTINGS)][-1] == "a.two"


@pytest.mark.parametrize("hint", [0.5, 1.0, 900.0])
def test_a_hint_is_taken_instead_of_a_guess(hint: float) -> None:
    settings = replace(SETTINGS, hints_tokens_per_s={"a.four": hint})
    found = expected_speeds(["a.four", "b.four"], MEASURED, USD_PER_HOUR, settings)
    assert found["a.four"] == Speed(hint, HINT_LOG_SE, is_measured=False)
    assert [*found] == ["a.four", "b.four"], "the flavors after it are guessed all the same"


@pytest.mark.parametrize("hint", [0.0, -1.0, math.inf, math.nan])
def test_a_hint_that_is_no_speed_is_not_taken(hint: float) -> None:
    settings = replace(SETTINGS, hints_tokens_per_s={"a.four": hint})
    found, usual = (expected_speeds(["a.four"], MEASURED, USD_PER_HOUR, one) for one in (settings, SETTINGS))
    assert found == usual


def test_a_fall_that_nobody_told_of_says_nothing_about_the_hardware_of_others() -> None:
    """`a.two` is left with a fifth of its speed. Of other flavors what it did before is expected."""
    fallen = Speed(100.0, 0.05, burst=Burst(500.0))
    found = expected_speeds(["b.four"], {"a.two": fallen}, USD_PER_HOUR, SETTINGS)
    assert found == expected_speeds(["b.four"], {"a.two": Speed(500.0, 0.05)}, USD_PER_HOUR, SETTINGS)


def test_a_baseline_that_was_told_counts_in_the_size() -> None:
    t2 = Flavor("a.two", vcpus=2, burstable=True, baseline_share=0.2)
    settings = DecideSettings(flavors={**FLAVORS, "a.two": t2})
    with_credits = {"a.two": Speed(100.0, 0.05, burst=Burst(500.0))}
    found = expected_speeds(["b.four"], with_credits, USD_PER_HOUR, settings)
    assert found == expected_speeds(["b.four"], {"a.two": Speed(100.0, 0.05)}, USD_PER_HOUR, settings)
