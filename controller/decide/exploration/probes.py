"""Which flavors are worth measuring: those that could win, while that pays, within the probe budget.

The probe budget is a bound and not a plan. It covers a probe that does no work at all. It also covers a probe that
makes the rest of the training so cheap that the cost of the probe is a large share of it. Deadline and budget have to
leave room for the probe as well.
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
"""The other quantiles and their weights: with the best case they integrate over the normal distribution."""
MAX_JUDGED = 9
"""The most flavors that are judged: those that could win the most for the money."""
GAIN_TOLERANCE, GAIN_SIZES = 1e-3, 200
"""How exactly a gain is searched, and among how many world sizes: it is a guess anyway."""
DEADLINE_WEIGHT = 3.0
"""The weight of a gain that brings a deadline or a budget within reach."""
MAX_PROBES_PER_MOVE = 3
WORTH_FACTOR = 1.5
"""A probe must be expected to gain more than its cost times this factor."""
IDLE_TOKENS_PER_S = 1e-6
"""The speed of a probe that does no work."""


@dataclass(frozen=True)
class Probe:
    """A flavor worth measuring, with the expected cost of measuring it and the gain on the rest of the work."""

    flavor: str
    guess: Speed
    cost_usd: float
    gain_usd: float
    least_usd: float
    """Cost of the rest of the work if the flavor is as fast as can be hoped."""


@dataclass(frozen=True)
class _Aim:
    """What measuring shall improve: the objective, or a deadline or budget that is out of reach."""

    objective: Objective
    bounds: Bounds
    weight: float = 1.0


@dataclass(frozen=True)
class Exploration:
    """The measuring of flavors on top of the fleet `base`, which is due anyway."""

    forecaster: Forecaster
    base: Forecast

    @cached_property
    def cost(self) -> ProbeCost:
        """The cost of probes on top of the base fleet."""
        return ProbeCost(self.forecaster, self.base)

    @cached_property
    def _aim(self) -> _Aim:
        """The aim: first the deadline, then the budget, then the objective."""
        forecaster = self.forecaster
        objective, bounds = forecaster.situation.settings.objective, forecaster.usual_bounds
        if best_fleet(forecaster.model, bounds, objective, GAIN_TOLERANCE, GAIN_SIZES) is not None:
            return _Aim(objective, bounds)
        in_time = replace(bounds, max_usd_per_step=None)
        if best_fleet(forecaster.model, in_time, Objective.COST, GAIN_TOLERANCE, GAIN_SIZES) is not None:
            return _Aim(Objective.COST, in_time, DEADLINE_WEIGHT)
        return _Aim(Objective.TIME, forecaster.bounds, DEADLINE_WEIGHT)

    def _ahead(self, model: FleetModel) -> tuple[float, float]:
        """Returns the worth of a model's best fleet by the aim, and its cost, in dollars for the rest of the work.

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
        """Worth and cost of the best fleet if nothing is measured."""
        return self._ahead(self.forecaster.model)

    def worthwhile(self) -> tuple[Fleet, list[Probe]]:
        """Returns the base fleet with a node of each flavor that is worth measuring now, and those flavors."""
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
        """Whether the present fleet is known, and a slow probe does not hold up the other nodes."""
        return self.forecaster.model.batches is Batches.BALANCED and self.forecaster.knows_current

    # What measuring gains

    def _unmeasured(self) -> dict[str, Speed]:
        """Returns the expected speeds of the flavors that could be started and were not measured in this run."""
        situation, here = (
            self.forecaster.situation,
            {*self.forecaster.situation.current.present, *self.base.target.present},
        )
        wanted = [f for f in self.forecaster.bounds.caps if f not in here and f not in situation.barred]
        known = {f: s for f, s in situation.measured.items() if f in wanted and not s.steps}
        never = situation.unmeasured(wanted)
        return {**expected_speeds(never, situation.measured, situation.usd_per_hour, situation.settings), **known}

    def _promising(self) -> list[Probe]:
        """Returns the flavors that are expected to gain more than measuring costs, best for the money first."""
        hopeful = sorted(self._hopeful(), key=_by_yield)[:MAX_JUDGED]
        expected = [replace(probe, gain_usd=self._expected_usd(probe)) for probe in hopeful]
        return sorted((p for p in expected if p.gain_usd > WORTH_FACTOR * p.cost_usd), key=_by_yield)

    def _hopeful(self) -> Iterator[Probe]:
        """Yields the flavors that could win, with their gain at best."""
        margin_usd = self.forecaster.situation.settings.saving_margin * self.base.remaining_usd
        for flavor, guess in self._unmeasured().items():
            grown = self._with_node(self.base.target, flavor)
            if grown is not None:
                gain_usd, least_usd = self._gain(flavor, guess.at(HOPE_Z))
                cost_usd = self.cost.planned_usd(grown, {flavor: guess.tokens_per_s})
                if gain_usd > cost_usd + margin_usd:
                    yield Probe(flavor, guess, cost_usd, gain_usd, least_usd)

    def _gain(self, flavor: str, tokens_per_s: float) -> tuple[float, float]:
        """Returns the gain of a flavor of this speed, and the least cost of the rest of the work, in dollars."""
        worth, usd = self._ahead(self.forecaster.model.with_speeds({flavor: tokens_per_s}))
        return self._aim.weight * (self._known[0] - worth), min(usd, self._known[1])

    def _expected_usd(self, probe: Probe) -> float:
        """Returns the expected gain of a flavor whose best gain is that of `probe`, in dollars."""
        expected_usd = HOPE_SHARE * probe.gain_usd
        for z, share in OTHER_QUANTILES:
            gain_usd, _ = self._gain(probe.flavor, probe.guess.at(z))
            if gain_usd <= 0:
                break
            expected_usd += share * gain_usd
        return expected_usd

    # What can be afforded

    def _with_node(self, fleet: Fleet, flavor: str) -> Fleet | None:
        """Returns the fleet with a node of a flavor that it lacks; None where the limits leave no room for it.

        Where the fleet is full, the node replaces one of the base fleet's most expensive flavor per token.
        """
        forecaster, model = self.forecaster, self.forecaster.model
        grown = fleet.with_count(flavor, 1)
        if not self._has_room(grown):
            leaving = [f for f in fleet.present if f in self.base.target.present]
            if not leaving:
                return None
            most_expensive = max(leaving, key=lambda f: (model.usd_per_hour[f] / model.tokens_per_s[f], f))
            grown = grown.with_count(most_expensive, grown.count(most_expensive) - 1)
        keeps_surge = forecaster.situation.surge.allows(exchange(forecaster.situation.current, grown))
        return grown if self._has_room(grown) and keeps_surge else None

    def _has_room(self, fleet: Fleet) -> bool:
        """Tells whether a fleet keeps the limits on nodes and on dollars per hour."""
        bounds = self.forecaster.bounds
        most, most_usd = bounds.max_nodes, bounds.max_usd_per_hour
        is_small = most is None or fleet.size <= most
        return is_small and (most_usd is None or self.forecaster.model.fleet_usd_per_hour(fleet) <= most_usd)

    def _is_affordable(self, target: Fleet, probes: list[Probe], spent_usd: float) -> bool:
        """Tells whether the probes fit into the probe budget, the deadline and the budget.

        They must fit into the probe budget if no probe does any work, and if one of them makes the rest cheap.
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
    """Returns a key that sorts the most gain for the cost first."""
    return probe.cost_usd / probe.gain_usd, probe.flavor
