"""The policy of CherryPick (Alipourfard et al., NSDI 2017): Bayesian optimisation over fleets of one flavor.

A Gaussian process (Matern 5/2) over features of a fleet predicts the logarithm of its cost per token; the fleet with
the largest expected improvement is tried next, until that falls below 10% and at least six fleets have been tried, or
all. The fleet that measured best is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module

import numpy as np

from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided, nothing_to_decide
from controller.decide.samples.windows import is_usable, median
from controller.domain import SECONDS_PER_HOUR, Decision, Fleet, Verdict
from controller.domain.objective import Objective
from controller.domain.reasons.deciding import BestOfTried, ExpectedToImprove, NothingTriedAllowed, WaitingForFleet

STOP_IMPROVEMENT = 0.10
MINIMUM_TRIALS = 6
SIZES = 4
"""How many world sizes are candidates for each flavor."""
PATIENCE_S = 1800.0
"""How long the policy waits for a fleet that does not report."""


class Bayesian:
    """Tries whole fleets by their expected improvement."""

    name = "bayesian"

    def decide(self, situation: Situation) -> Decision:
        """Tries the most promising fleet, or settles on the best one tried."""
        return nothing_to_decide(situation) or self._try_or_settle(situation)

    def _try_or_settle(self, situation: Situation) -> Decision:
        tried = _tried(situation)
        moves = situation.history.moves
        began = moves[-1].changed_at if moves else 0.0
        if situation.current not in tried and situation.now - began < PATIENCE_S:
            return decided(situation, Verdict.STAY, WaitingForFleet(situation.current))
        candidates = [fleet for fleet in _candidates(situation) if fleet not in tried]
        if tried and candidates:
            fleet, improvement = _most_promising(situation, tried, candidates)
            if improvement >= STOP_IMPROVEMENT or len(tried) < MINIMUM_TRIALS:
                reason = ExpectedToImprove(fleet, improvement)
                return decided(situation, Verdict.MOVE, reason, fleet, is_probe=True)
        return self._settle(situation, tried)

    def _settle(self, situation: Situation, tried: Mapping[Fleet, float]) -> Decision:
        """Returns a decision for the best fleet that was tried and is still allowed."""
        caps = situation.bounds.caps
        allowed = [f for f in tried if all(count <= caps.get(name, 0) for name, count in f.present.items())]
        if not allowed:
            return decided(situation, Verdict.STAY, NothingTriedAllowed())
        best = min(allowed, key=lambda fleet: tried[fleet])
        verdict = Verdict.STAY if best == situation.current else Verdict.MOVE
        return decided(situation, verdict, BestOfTried(best, len(tried)), best)


def _tried(situation: Situation) -> dict[Fleet, float]:
    """Returns each fleet that ran, with the measured cost (or time) of a step at the present prices."""
    times: dict[Fleet, list[float]] = {}
    for observation in situation.observations:
        usable = [f for f in observation.facts if is_usable(f, observation.at, situation.settings)]
        measured = [f.iteration_time_s for f in usable if f.iteration_time_s and 0 < f.iteration_time_s < math.inf]
        if measured and all(flavor in situation.usd_per_hour for flavor in observation.fleet.present):
            times.setdefault(observation.fleet, []).append(median(measured))
    is_cost = situation.settings.objective is Objective.COST
    head = situation.settings.head_usd_per_hour
    usd_per_s = {
        f: (f.usd_per_hour(situation.usd_per_hour) + head) / SECONDS_PER_HOUR if is_cost else 1.0 for f in times
    }
    return {fleet: median(values) * usd_per_s[fleet] for fleet, values in times.items()}


def _candidates(situation: Situation) -> list[Fleet]:
    """Returns fleets of one flavor, at a few world sizes within the limits."""
    bounds, fleets = situation.bounds, []
    most_usd = math.inf if bounds.max_usd_per_hour is None else bounds.max_usd_per_hour
    for flavor, cap in bounds.caps.items():
        most = min(cap, bounds.max_nodes or 4 * max(1, situation.current.size))
        least = max(1, bounds.min_nodes)
        for size in sorted({round(size) for size in np.geomspace(least, max(least, most), SIZES)}):
            costs = size * situation.usd_per_hour[flavor] + situation.settings.head_usd_per_hour
            if size <= most and costs <= most_usd:
                fleets.append(Fleet({flavor: int(size)}))
    return fleets


def _features(situation: Situation, fleet: Fleet) -> list[float]:
    """Returns the logarithms of a fleet's nodes, vCPUs and dollars."""
    flavors = situation.settings.flavors
    vcpus = sum(n * ((flavors[f].vcpus if f in flavors else None) or 1) for f, n in fleet.present.items())
    dollars = fleet.usd_per_hour(situation.usd_per_hour)
    return [math.log(fleet.size), math.log(vcpus), math.log(dollars)]


def _most_promising(
    situation: Situation, tried: Mapping[Fleet, float], candidates: Sequence[Fleet]
) -> tuple[Fleet, float]:
    """Returns the candidate with the largest expected improvement, and this as a share of the best value so far."""
    known = [fleet for fleet in tried if all(f in situation.usd_per_hour for f in fleet.present)]
    values = np.log([tried[fleet] for fleet in known])
    # Imported here, because scikit-learn takes a second that the other policies need not wait for.
    processes, kernels = (import_module(f"sklearn.gaussian_process{part}") for part in ("", ".kernels"))
    kernel = kernels.ConstantKernel(0.25) * kernels.Matern(length_scale=1.0, nu=2.5) + kernels.WhiteKernel(1e-3)
    process = processes.GaussianProcessRegressor(kernel, optimizer=None, normalize_y=False)
    process.fit(np.array([_features(situation, fleet) for fleet in known]), values - values.mean())
    features = np.array([_features(situation, fleet) for fleet in candidates])
    mean, deviation = process.predict(features, return_std=True)
    gap = (values - values.mean()).min() - mean
    score = gap / np.maximum(deviation, 1e-9)
    below = np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in score])
    density = np.exp(-(score**2) / 2) / math.sqrt(2 * math.pi)
    improvement = gap * below + deviation * density
    at = int(np.argmax(improvement))
    return candidates[at], float(improvement[at])
