"""How long a step waits for the network at each world size, fitted to what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from controller.decide.samples.slowest import Slowest
from controller.decide.samples.windows import is_usable, median, samples_of
from controller.decide.settings import DecideSettings
from controller.domain import Observation

RIDGE = 1e-3
"""Weight of the ridge, which shares a single measured size fairly among the terms."""
MIN_REPORTING_SHARE = 0.5
ENOUGH_REPORTING = 8
"""An observation tells nothing about the slowest rank when fewer ranks than this report."""


def _terms(world_size: int) -> tuple[float, float, float, float]:
    """Returns the terms: barrier, bandwidth of a ring, depth of a tree, latency of a ring; zero for one rank."""
    if world_size <= 1:
        return (0.0, 0.0, 0.0, 0.0)
    return (1.0, (world_size - 1) / world_size, math.log2(world_size), float(world_size - 1))


@dataclass(frozen=True)
class Communication:
    """t_comm(N) = c0 + c1 (N-1)/N + c2 log2 N + c3 (N-1) seconds, coefficients not negative; 0 for one rank."""

    coefficients: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    measured_s: Mapping[int, float] | None = None
    """The median that was measured at each world size."""

    def seconds(self, world_size: int) -> float:
        """Returns the seconds of communication in a step at this world size."""
        return sum(c * term for c, term in zip(self.coefficients, _terms(world_size), strict=True))


def _sample(observation: Observation, slowest: Slowest) -> tuple[int, float] | None:
    """Returns world size and communication time of an observation: iteration time less the slowest rank's computing."""
    facts = [
        fact
        for fact in observation.facts
        if is_usable(fact, observation.at, slowest.settings)
        and fact.iteration_time_s is not None
        and math.isfinite(fact.iteration_time_s)
        and fact.iteration_time_s > 0
        and fact.world_size
    ]
    sizes = {fact.world_size for fact in facts}
    if len(sizes) != 1:
        return None
    (world_size,) = sizes
    assert world_size is not None
    if len(facts) < min(MIN_REPORTING_SHARE * world_size, ENOUGH_REPORTING):
        return None
    iteration_s = median([fact.iteration_time_s for fact in facts if fact.iteration_time_s])
    return world_size, max(0.0, iteration_s - slowest.seconds(facts, observation.at, iteration_s))


def fit_communication(
    observations: Iterable[Observation], settings: DecideSettings, slowest: Slowest | None = None
) -> Communication:
    """Fits t_comm(N) by non-negative least squares, as Ernest does (Venkataraman et al., NSDI 2016).

    With nothing measured it is zero. With one world size measured, the terms share it, so that the extrapolation lies
    between "the same at any size" and "in proportion to the size".

    Args:
        observations: What was seen.
        settings: What a usable fact is.
        slowest: What tells the slowest rank, where the windows are worked out already.
    """
    seen = tuple(observations)
    slowest = slowest or Slowest(samples_of(seen, settings), settings)
    by_size: dict[int, list[float]] = {}
    for observation in seen:
        sample = _sample(observation, slowest)
        if sample is not None and sample[0] > 1:
            by_size.setdefault(sample[0], []).append(sample[1])
    if not by_size:
        return Communication()
    measured = {size: median(values) for size, values in sorted(by_size.items())}
    weights = np.sqrt([len(by_size[size]) for size in measured])
    scale = np.array(_terms(max(measured)))
    rows = np.array([_terms(size) for size in measured]) / scale * weights[:, None]
    values = np.array(list(measured.values())) * weights
    ridge = math.sqrt(RIDGE) * float(np.linalg.norm(weights)) * np.eye(len(scale))
    fitted, _ = nnls(np.vstack([rows, ridge]), np.concatenate([values, np.zeros(len(scale))]))
    c0, c1, c2, c3 = (float(value) for value in fitted / scale)
    return Communication((c0, c1, c2, c3), measured)
