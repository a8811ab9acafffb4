"""Which flavors are worth measuring: only those that could win, only while it pays, only within the probe budget.

The probe budget is a bound, not a plan: it has to bear a probe that does no work at all, and one that makes the rest of
the training so cheap that its own cost is a large share. What deadline and budget leave has to bear it as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from controller.decide.exploration.probe_cost import ProbeCost
from controller.decide.limits.bounds import Bounds
from controller.decide.limits.surge import exchange
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.prior import expected_speeds
from controller.decide.model.speeds import Speed
from controller.decide.search.best_fleet import best_fleet
from controller.domain import SECONDS_PER_HOUR, Fleet
from controller.domain.batches import Batches
from controller.domain.objective import Objective

HOPE_Z, HOPE_SHARE = 1.64, 0.10
"""A flavor is given up when it could not win even if it were this many standard errors faster than expected."""
OTHER_QUANTILES = ((0.93, 0.15), (0.32, 0.25), (-0.32, 0.25), (-1.15, 0.25))
"""Where else a guess is tried out; with the best case an integral over the normal distribution."""
MAX_JUDGED = 9
"""Of more flavors than this that could win, those that could win the most for the money are looked at."""
GAIN_TOLERANCE, GAIN_SIZES = 1e-3, 200
"""A gain is a guess: it need not be found exactly, nor among all world sizes."""
DEADLINE_WEIGHT = 3.0
"""What a gain counts that brings a deadline or a budget into reach."""
MAX_PROBES_PER_MOVE = 3
WORTH_FACTOR = 1.5
"""What a probe is expected to gain must exceed its cost by this factor."""
IDLE_TOKENS_PER_S = 1e-6
"""The speed of a probe that does no work."""


@dataclass(frozen=True)
class Probe:
    """A flavor worth measuring: what that is expected to cost, and to gain on the rest of the work, in dollars."""

    flavor: str
    guess: Speed
    cost_usd: float
    gain_usd: float
    least_usd: float
    """What the rest of the work costs if the flavor is as fast as can be hoped."""


@dataclass(frozen=True)
class _Aim:
    """What measuring is to help with: the objective within the promises, or else a promise that is out of reach."""

    objective: Objective
    bounds: Bounds
    weight: float = 1.0


@dataclass(frozen=True)
class Exploration:
    """What could be measured on top of the fleet `base`, which is to be had anyway."""

    forecaster: Forecaster
    base: Forecast

    @cached_property
    def cost(self) -> ProbeCost:
        """What probes on top of the base fleet cost."""
        return ProbeCost(self.forecaster, self.base)

    @cached_property
    def _aim(self) -> _Aim:
        """Deadline first: the fastest fleet; then the budget: the cheapest one in time."""
        forecaster = self.forecaster
        objective, promised = forecaster.situation.settings.objective, forecaster.usual_bounds
        if best_fleet(forecaster.model, promised, objective, GAIN_TOLERANCE, GAIN_SIZES) is not None:
            return _Aim(objective, promised)
        in_time = replace(promised, max_usd_per_step=None)
        if best_fleet(forecaster.model, in_time, Objective.COST, GAIN_TOLERANCE, GAIN_SIZES) is not None:
            return _Aim(Objective.COST, in_time, DEADLINE_WEIGHT)
        return _Aim(Objective.TIME, forecaster.bounds, DEADLINE_WEIGHT)

    def _ahead(self, model: FleetModel) -> tuple[float, float]:
        """What the best fleet of a model is worth by the aim, and what it costs, in dollars for the rest of the work.

        Seconds count as what the present fleet costs meanwhile.
        """
        aim, forecaster = self._aim, self.forecaster
        found = best_fleet(model, aim.bounds, aim.objective, GAIN_TOLERANCE, GAIN_SIZES)
        if found is None:
            return math.inf, math.inf
        usd = found.usd_per_step * forecaster.remaining_steps
        if aim.objective is Objective.COST:
            return usd, usd
        rate = forecaster.model.fleet_usd_per_hour(forecaster.situation.current) / SECONDS_PER_HOUR
        return found.step_s * forecaster.remaining_steps * rate, usd

    @cached_property
    def _known(self) -> tuple[float, float]:
        """The same without measuring anything."""
        return self._ahead(self.forecaster.model)

    def worthwhile(self) -> tuple[Fleet, list[Probe]]:
        """The base fleet with a node of each flavor that is worth measuring now, and those flavors."""
        target, probes = self.base.target, list[Probe]()
        if not self._is_sensible:
            return target, probes
        spent_usd = self.cost.spent_usd()
        for probe in self._promising():
            grown = self._with_node(target, probe.flavor)
            if grown is not None and self._is_affordable(grown, [*probes, probe], spent_usd):
                target, probes = grown, [*probes, probe]
            if len(probes) == MAX_PROBES_PER_MOVE:
                break
        return target, probes

    @property
    def _is_sensible(self) -> bool:
        """Whether the present fleet is known, and a slow probe would not hold up the others."""
        return self.forecaster.model.batches is Batches.BALANCED and self.forecaster.knows_current

    # What measuring gains

    def _unmeasured(self) -> dict[str, Speed]:
        """What is expected of the flavors that could be started and were not measured well in this run."""
        situation, here = (
            self.forecaster.situation,
            {*self.forecaster.situation.current.present, *self.base.target.present},
        )
        wanted = [f for f in self.forecaster.bounds.caps if f not in here and f not in situation.barred]
        known = {f: s for f, s in situation.measured.items() if f in wanted and not s.steps}
        never = situation.unmeasured(wanted)
        return {**expected_speeds(never, situation.measured, situation.usd_per_hour, situation.settings), **known}

    def _promising(self) -> list[Probe]:
        """The flavors that are expected to gain more than measuring them costs, the best for the money first."""
        hopeful = sorted(self._hopeful(), key=_by_yield)[:MAX_JUDGED]
        expected = [replace(probe, gain_usd=self._expected_usd(probe)) for probe in hopeful]
        return sorted((p for p in expected if p.gain_usd > WORTH_FACTOR * p.cost_usd), key=_by_yield)

    def _hopeful(self) -> Iterator[Probe]:
        """The flavors that could win, with what they would gain at best."""
        margin_usd = self.forecaster.situation.settings.saving_margin * self.base.remaining_usd
        for flavor, guess in self._unmeasured().items():
            grown = self._with_node(self.base.target, flavor)
            if grown is not None:
                gain_usd, least_usd = self._gain(flavor, guess.at(HOPE_Z))
                cost_usd = self.cost.planned_usd(grown, {flavor: guess.tokens_per_s})
                if gain_usd > cost_usd + margin_usd:
                    yield Probe(flavor, guess, cost_usd, gain_usd, least_usd)

    def _gain(self, flavor: str, tokens_per_s: float) -> tuple[float, float]:
        """What a flavor of this speed gains, and what the rest of the work then costs at least, in dollars."""
        worth, usd = self._ahead(self.forecaster.model.with_speeds({flavor: tokens_per_s}))
        return self._aim.weight * (self._known[0] - worth), min(usd, self._known[1])

    def _expected_usd(self, probe: Probe) -> float:
        """What a flavor is expected to gain, if at best it gains what `probe` says."""
        expected_usd = HOPE_SHARE * probe.gain_usd
        for z, share in OTHER_QUANTILES:
            gain_usd, _ = self._gain(probe.flavor, probe.guess.at(z))
            if gain_usd <= 0:
                break
            expected_usd += share * gain_usd
        return expected_usd

    # What can be afforded

    def _with_node(self, fleet: Fleet, flavor: str) -> Fleet | None:
        """A fleet with one more node of a flavor; None where the limits leave no room for it.

        Where the fleet is full, a node of the base fleet's dearest flavor per token gives way.
        """
        forecaster, model = self.forecaster, self.forecaster.model
        grown = fleet.with_count(flavor, fleet.count(flavor) + 1)
        if not self._has_room(grown):
            leaving = [f for f in fleet.present if f in self.base.target.present]
            if not leaving:
                return None
            dearest = max(leaving, key=lambda f: (model.usd_per_hour[f] / model.tokens_per_s[f], f))
            grown = grown.with_count(dearest, grown.count(dearest) - 1)
        keeps_surge = exchange(forecaster.situation.current, grown).keeps(forecaster.situation.limits.max_surge)
        return grown if self._has_room(grown) and keeps_surge else None

    def _has_room(self, fleet: Fleet) -> bool:
        """Whether a fleet keeps the limits on nodes and on dollars per hour."""
        bounds = self.forecaster.bounds
        most, most_usd = bounds.max_nodes, bounds.max_usd_per_hour
        is_small = most is None or fleet.size <= most
        return is_small and (most_usd is None or self.forecaster.model.fleet_usd_per_hour(fleet) <= most_usd)

    def _is_affordable(self, target: Fleet, probes: list[Probe], spent_usd: float) -> bool:
        """Whether the probe budget bears it if no probe does any work, and if one of them makes the rest cheap.

        So must what deadline and budget leave if no probe does any work.
        """
        situation = self.forecaster.situation
        idle = dict.fromkeys((probe.flavor for probe in probes), IDLE_TOKENS_PER_S)
        cases = [(idle, self._known[1])]
        cases += [({**idle, probe.flavor: probe.guess.at(HOPE_Z)}, probe.least_usd) for probe in probes]
        for speeds, rest_usd in cases:
            most_usd = situation.settings.probe_share * (situation.history.spent_usd + rest_usd)
            if spent_usd + self.cost.planned_usd(target, speeds) > most_usd:
                return False
        return self.cost.keeps_deadline_and_budget(target, idle)


def _by_yield(probe: Probe) -> tuple[float, str]:
    """The most gain for the cost first."""
    return probe.cost_usd / probe.gain_usd, probe.flavor
