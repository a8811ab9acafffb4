"""The expected speed of a flavor that was never measured, from its hardware and from the measured flavors.

A Gaussian process over the logarithm of speed per vCPU (or per dollar where vCPUs are unknown): flavors of one family
are alike, all others a little. It is the kriging that CherryPick (Alipourfard et al., NSDI 2017) uses, with a fixed
kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from controller.decide.model.speeds import Speed
from controller.decide.settings import DecideSettings

FAMILY_CORRELATION = 0.85
OTHER_CORRELATION = 0.4
SIGMA = 0.40
"""How much the logarithm of speed per vCPU varies over families and sizes."""
SIGMA_WITHOUT_VCPUS = 0.60
HINT_LOG_SE = 0.25
SIZE_LOG_SE = 0.12
"""How far speed per vCPU varies with the size within a family."""


def family(flavor: str) -> str:
    """Returns the part of an instance type before the dot: `c5` of `c5.xlarge`."""
    return flavor.partition(".")[0]


def _correlation(one: str, other: str) -> float:
    """Returns the expected correlation of two flavors."""
    if one == other:
        return 1.0
    return FAMILY_CORRELATION if family(one) == family(other) else OTHER_CORRELATION


def _log_size(flavor: str, usd_per_hour: Mapping[str, float], settings: DecideSettings, by_vcpus: bool) -> float | None:
    """Returns the logarithm of the size that speed is in proportion to: sustained vCPUs, or dollars."""
    if by_vcpus:
        known = settings.flavors.get(flavor)
        if known is None or not known.vcpus:
            return None
        return math.log(known.vcpus * known.sustained_share)
    return math.log(usd_per_hour[flavor]) if flavor in usd_per_hour else None


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
        self.sigma = SIGMA if by_vcpus else SIGMA_WITHOUT_VCPUS
        sizes = {name: _log_size(name, usd_per_hour, settings, by_vcpus) for name in measured}
        self.names = [name for name in measured if sizes[name] is not None]
        residual = np.array([math.log(measured[name].tokens_per_s) - (sizes[name] or 0.0) for name in self.names])
        among = np.array([[_correlation(a, b) for b in self.names] for a in self.names]) * self.sigma**2
        among = among + np.diag([measured[name].log_se ** 2 + SIZE_LOG_SE**2 for name in self.names])
        self.inverse = np.linalg.inv(among)
        self.weights = self.inverse.sum(axis=0)
        self.mean = float(self.weights @ residual / self.weights.sum()) if self.names else 0.0
        self.pull = self.inverse @ (residual - self.mean)

    def guess(self, flavor: str) -> Speed | None:
        """Returns the conditional mean and deviation of one flavor; None where nothing can be said."""
        size = _log_size(flavor, self.usd_per_hour, self.settings, self.by_vcpus)
        if size is None or not self.names:
            return None
        towards = np.array([_correlation(flavor, name) for name in self.names]) * self.sigma**2
        variance = self.sigma**2 + SIZE_LOG_SE**2 - float(towards @ self.inverse @ towards)
        # The mean is itself estimated from these few flavors (universal kriging).
        variance += (1 - float(self.weights @ towards)) ** 2 / float(self.weights.sum())
        tokens_per_s = math.exp(size + self.mean + float(towards @ self.pull))
        return Speed(tokens_per_s, math.sqrt(variance), is_measured=False)


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
