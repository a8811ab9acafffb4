"""What measuring shall improve, and what it would be worth if flavors had certain speeds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from controller.decide.exploration.second_looks import Look, closer_looks, second_looks
from controller.decide.limits.bounds import Bounds
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.hardware.prior import expected_speeds
from controller.decide.model.risk import usual_bounds
from controller.decide.model.speeds import Speed
from controller.decide.search.best_fleet import best_fleet
from controller.decide.search.found import Found
from controller.domain import NO_NODES, SECONDS_PER_HOUR, Fleet, MovePhase
from controller.domain.objective import Objective

GAIN_TOLERANCE, GAIN_SIZES = 1e-3, 200
"""How exactly a gain is searched, and among how many world sizes: it is a guess anyway."""
DEADLINE_WEIGHT = 3.0
"""The weight of a gain that brings a deadline or a budget within reach."""


@dataclass(frozen=True)
class Aim:
    """What measuring shall improve: the objective, or a deadline or budget that is out of reach."""

    objective: Objective
    bounds: Bounds
    weight: float = 1.0


@dataclass(frozen=True)
class Ahead:
    """The best fleet for the rest of the work, by certain speeds. It is taken to run already."""

    fleet: Fleet
    worth: float
    """By the aim, in dollars. Seconds count as what the present fleet costs meanwhile."""
    usd: float


@dataclass(frozen=True)
class Outlook:
    """What is to be gained in one situation."""

    forecaster: Forecaster

    @cached_property
    def aim(self) -> Aim:
        """The aim: first the deadline, then the budget, then the objective."""
        forecaster, usual = self.forecaster, self._usual
        in_time = Aim(Objective.COST, replace(usual.bounds, max_usd_per_step=None), DEADLINE_WEIGHT)
        for aim in (usual, in_time):
            if _found(forecaster.model, aim) is not None:
                return aim
        return Aim(Objective.TIME, forecaster.bounds, DEADLINE_WEIGHT)

    @cached_property
    def _usual(self) -> Aim:
        """The objective, within deadline and budget."""
        return Aim(self.forecaster.situation.settings.objective, usual_bounds(self.forecaster))

    @cached_property
    def usd_per_s(self) -> float:
        """What a second counts: what the present fleet costs in it."""
        return self.forecaster.model.fleet_usd_per_hour(self.forecaster.situation.current) / SECONDS_PER_HOUR

    def ahead(self, model: FleetModel) -> Ahead:
        """Returns the best fleet by a model's speeds. Without any allowed fleet its worth is infinite."""
        found = _found(model, self.aim)
        if found is None:
            return Ahead(NO_NODES, math.inf, math.inf)
        usd = found.usd_per_step * self.forecaster.remaining_steps
        if self.aim.objective is Objective.COST:
            return Ahead(found.fleet, usd, usd)
        return Ahead(found.fleet, found.step_s * self.forecaster.remaining_steps * self.usd_per_s, usd)

    def worth_of(self, forecast: Forecast) -> float:
        """Returns the worth of a forecast by the objective, in dollars."""
        is_cost = self.forecaster.situation.settings.objective is Objective.COST
        return forecast.remaining_usd if is_cost else forecast.remaining_s * self.usd_per_s

    def kept(self, model: FleetModel) -> Fleet:
        """Returns the best fleet that keeps deadline and budget by a model's speeds; no nodes where none does."""
        found = _found(model, self._usual)
        return NO_NODES if found is None else found.fleet

    @cached_property
    def known(self) -> Ahead:
        """The best fleet if nothing is measured."""
        return self.ahead(self.forecaster.model)

    def guesses(self, base: Fleet) -> dict[str, Speed]:
        """Returns the expected speeds of the flavors that could be started and were not measured well in this run."""
        situation, wanted = self.forecaster.situation, self._wanted(base)
        known = {f: s for f, s in situation.measured.items() if f in wanted and not s.steps}
        never = situation.unmeasured(wanted)
        guesses = expected_speeds(never, situation.measured, situation.usd_per_hour, situation.settings)
        return {**guesses, **known, **second_looks(situation, wanted)}

    def closer_looks(self, base: Fleet) -> dict[str, Look]:
        """Returns what another node may show of the flavors that could be started and were measured.

        Of those that run and go on, these are the flavors with a single node, which may be a bad one. Flavors of which
        more nodes were tried than have told anything are left alone.
        """
        situation = self.forecaster.situation
        probes = Counter(f for move in situation.history.moves if move.phase is MovePhase.DONE for f in move.probed)
        single = [f for f in self._startable if situation.current.count(f) == base.count(f) == 1]
        alone = {f: look for f, look in closer_looks(situation, single).items() if look.chance_bad}
        looks = {**alone, **closer_looks(situation, self._wanted(base))}
        return {f: look for f, look in looks.items() if probes[f] <= situation.measured[f].nodes}

    def _wanted(self, base: Fleet) -> list[str]:
        """Returns the flavors that could be started, and do not run in the present fleet or in the base."""
        here = {*self.forecaster.situation.current.present, *base.present}
        return [f for f in self._startable if f not in here]

    @cached_property
    def _startable(self) -> list[str]:
        """The flavors of which another node could be started."""
        barred = self.forecaster.situation.barred
        return [f for f in self.forecaster.bounds.caps if f not in barred]


def _found(model: FleetModel, aim: Aim) -> Found | None:
    """Returns the best fleet by an aim, as exactly as a gain needs it; None where no fleet is within its bounds."""
    return best_fleet(model, aim.bounds, aim.objective, GAIN_TOLERANCE, GAIN_SIZES)
