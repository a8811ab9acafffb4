"""The expected speed of a flavor that was never measured, from its hardware and from the measured flavors.

A Gaussian process over the logarithm of speed per vCPU (or per dollar where vCPUs are unknown): flavors are the more
alike, the more their processors are (`likeness.py`). It is the kriging that CherryPick (Alipourfard et al., NSDI 2017)
uses. Speed grows with a power of the vCPUs that is not known exactly either. How far speeds spread is itself uncertain:
a scaled inverse chi-squared prior (`SpeedSpread`) is updated by how far the measured flavors lie from what was expected
of them, and a guess has the Student-t distribution that follows (Gelman et al., "Bayesian Data Analysis", 3rd edition,
section 3.2). Its tails are long while few flavors were measured: only measuring rules out that speeds have little to do
with vCPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from controller.decide.model.hardware.likeness import likeness
from controller.decide.model.speeds import Speed
from controller.decide.model.tails import student_quantile
from controller.decide.settings import DecideSettings
from controller.domain import Flavor

Floats = NDArray[np.float64]
FAMILY_CORRELATION = 0.85
OTHER_CORRELATION = 0.4
SIGMA_WITHOUT_VCPUS = 0.50
HINT_LOG_SE = 0.25
SCALING, SCALING_SD = 0.95, 0.08
"""Speed grows with this power of the vCPUs, and how far the power may be off: memory and caches are shared."""


def correlation(one: str, other: str) -> float:
    """Returns the expected correlation of two flavors' speeds per vCPU."""
    if one == other:
        return 1.0
    return OTHER_CORRELATION + (FAMILY_CORRELATION - OTHER_CORRELATION) * likeness(one, other)


def _log_size(flavor: str, usd_per_hour: Mapping[str, float], settings: DecideSettings, by_vcpus: bool) -> float | None:
    """Returns the logarithm of the size that speed is in proportion to: sustained vCPUs, or dollars."""
    if by_vcpus:
        known = settings.flavors.get(flavor)
        if known is None or not known.vcpus:
            return None
        return SCALING * math.log(known.vcpus) + math.log(known.sustained_share)
    return math.log(usd_per_hour[flavor]) if flavor in usd_per_hour else None


def _without_fall(speed: Speed, flavor: Flavor | None) -> float:
    """Returns the speed that tells of a flavor's hardware, tokens per second.

    That nodes have fallen to a level that nobody has told of says nothing about the processors of other flavors. A
    baseline that was told is counted in the size already.
    """
    is_told = flavor is not None and flavor.sustained_share < 1
    return speed.tokens_per_s if is_told or speed.burst is None else speed.burst.tokens_per_s


class _Kriging:
    """Kriging from the measured flavors to the others, per vCPU or per dollar."""

    def __init__(
        self,
        measured: Mapping[str, Speed],
        usd_per_hour: Mapping[str, float],
        settings: DecideSettings,
        by_vcpus: bool,
    ) -> None:
        self.usd_per_hour, self.settings, self.by_vcpus = usd_per_hour, settings, by_vcpus
        sizes = {name: _log_size(name, usd_per_hour, settings, by_vcpus) for name in measured}
        self.names = [name for name in measured if sizes[name] is not None]
        speeds = {name: _without_fall(measured[name], settings.flavors.get(name)) for name in self.names}
        residual = np.array([math.log(speeds[name]) - (sizes[name] or 0.0) for name in self.names])
        noise = np.diag([measured[name].log_se ** 2 for name in self.names])
        expected = np.array([[self._covariance(a, b) for b in self.names] for a in self.names])
        expected = expected + settings.spread.own**2 * np.eye(len(expected))
        self.scale = _spread(expected + noise, residual, settings.spread.flavors) if self.names else 1.0
        self.inverse = np.linalg.inv(self.scale * expected + noise)
        self.weights = self.inverse.sum(axis=0)
        self.mean = float(self.weights @ residual / self.weights.sum()) if self.names else 0.0
        self.pull = self.inverse @ (residual - self.mean)

    def _covariance(self, one: str, other: str) -> float:
        """Returns the covariance of what two flavors make of their size, if they spread as far as expected."""
        if not self.by_vcpus:
            return SIGMA_WITHOUT_VCPUS**2 * correlation(one, other)
        first, second = (math.log(self.settings.flavors[name].vcpus or 1) for name in (one, other))
        return self.settings.spread.shared**2 * correlation(one, other) + SCALING_SD**2 * first * second

    def guess(self, flavor: str) -> Speed | None:
        """Returns what one flavor is expected to be, given the measured ones; None where nothing can be said."""
        size = _log_size(flavor, self.usd_per_hour, self.settings, self.by_vcpus)
        if size is None or not self.names:
            return None
        towards = self.scale * np.array([self._covariance(flavor, name) for name in self.names])
        variance = self.scale * (self._covariance(flavor, flavor) + self.settings.spread.own**2)
        variance -= float(towards @ self.inverse @ towards)
        # The mean is itself estimated from these few flavors (universal kriging).
        variance += (1 - float(self.weights @ towards)) ** 2 / float(self.weights.sum())
        freedom = self.settings.spread.flavors + len(self.names) - 1
        tokens_per_s = math.exp(size + self.mean + float(towards @ self.pull))
        log_se = math.sqrt(variance) * student_quantile(1.0, freedom)
        return Speed(tokens_per_s, log_se, is_measured=False, freedom=freedom)


def _spread(covariance: Floats, residual: Floats, prior_flavors: float) -> float:
    """Returns how many times as far as expected the measured flavors spread, as a variance.

    Args:
        covariance: What is expected of the residuals, (flavors, flavors).
        residual: Logarithms of speed over size, (flavors,).
        prior_flavors: How many flavors the expectation is worth.
    """
    inverse = np.linalg.inv(covariance)
    weights = inverse.sum(axis=0)
    around = residual - weights @ residual / weights.sum()
    return float((prior_flavors + around @ inverse @ around) / (prior_flavors + len(residual) - 1))


def expected_speeds(
    flavors: Sequence[str],
    measured: Mapping[str, Speed],
    usd_per_hour: Mapping[str, float],
    settings: DecideSettings,
) -> dict[str, Speed]:
    """Returns the expected speed of each flavor with its error. Flavors of which nothing can be said are left out."""
    guesses: dict[str, Speed] = {}
    by_vcpus, by_price = (_Kriging(measured, usd_per_hour, settings, by_vcpus) for by_vcpus in (True, False))
    for flavor in flavors:
        hint = settings.hints_tokens_per_s.get(flavor)
        if hint is not None and math.isfinite(hint) and hint > 0:
            guesses[flavor] = Speed(hint, HINT_LOG_SE, is_measured=False)
            continue
        guess = by_vcpus.guess(flavor) or by_price.guess(flavor)
        if guess is not None:
            guesses[flavor] = guess
    return guesses
