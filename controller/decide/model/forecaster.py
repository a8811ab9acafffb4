"""Forecasts of time and money for the rest of the work on each fleet, and whether deadline and budget are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from controller.decide.limits.bounds import Bounds
from controller.decide.limits.surge import exchange, moves_needed
from controller.decide.limits.violations import violation
from controller.decide.model.bad_nodes import held_up_s, without
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast, Overrun
from controller.decide.model.running_out import mean_speeds, mean_step_s, step_now_s
from controller.decide.model.situation import Situation
from controller.decide.model.switching import switching_usd
from controller.domain import SECONDS_PER_HOUR, Fleet, FleetEstimate
from controller.domain.objective import Objective
from controller.domain.reasons import Reason
from controller.domain.reasons.limits import BreaksLimit, Constrained, TooExpensiveForBudget, TooSlowForDeadline

LEAST_MARGIN = 0.005
"""The present fleet may stay while it is expected to keep deadline and budget with this share to spare."""


@dataclass(frozen=True)
class Forecaster:
    """Forecasts what fleets take and cost in one situation, by one model of speeds."""

    situation: Situation
    model: FleetModel
    bounds: Bounds
    remaining_steps: int
    time_left_s: float | None = None
    """Until the deadline; None without one."""
    money_left_usd: float | None = None
    """Of the budget, without what giving everything back costs; None without a budget."""
    lasting: FleetModel | None = None
    """The model without CPU credits, where the speeds of `model` count some; None where they count none."""

    @classmethod
    def of(cls, situation: Situation, model: FleetModel, bounds: Bounds) -> Forecaster:
        """Returns the forecaster with what is left of deadline and budget."""
        deadline_at, budget_usd = situation.limits.deadline_at, situation.limits.budget_usd
        return cls(
            situation,
            model,
            bounds,
            situation.remaining_steps or 0,
            None if deadline_at is None else deadline_at - situation.now,
            None if budget_usd is None else budget_usd - situation.history.spent_usd - situation.ending_usd,
        )

    @property
    def has_deadline_or_budget(self) -> bool:
        """Tells whether there is a deadline or a budget."""
        return self.time_left_s is not None or self.money_left_usd is not None

    @property
    def confidence(self) -> float:
        """The chance with which deadline and budget are to be kept."""
        asked = self.situation.limits.confidence
        return self.situation.settings.confidence if asked is None else asked

    @cached_property
    def knows_current(self) -> bool:
        """Tells whether speed and price of all that runs are known."""
        return self.model.knows(self.situation.current)

    @cached_property
    def violation(self) -> Reason | None:
        """The limit that the present fleet breaks, if any. What runs need not end because its price is missing."""
        situation, current = self.situation, self.situation.current
        unpriced = {f: n for f, n in current.present.items() if f in situation.price_faults}
        may_stay = {f: n for f, n in unpriced.items() if f not in situation.limits.excluded}
        bounds = replace(self.bounds, caps={**self.bounds.caps, **may_stay})
        return violation(current, bounds, self.model.usd_per_hour, situation.settings.head_usd_per_hour)

    # What fleets do

    def step_time_s(self, target: Fleet) -> float:
        """Returns the mean seconds of a step over the rest of the work, with bad nodes and with CPU credits."""
        return self.model.step_time_s(target) + _beyond_model_s(self, target)

    def usd_per_step(self, target: Fleet) -> float:
        """Returns the dollars of a step: bad nodes, the head and the traffic between zones included."""
        return paid_usd_per_hour(self, target) / SECONDS_PER_HOUR * self.step_time_s(target)

    def estimate(self, fleet: Fleet) -> FleetEstimate:
        """Returns the fleet's numbers, bad nodes included; None where a speed or a price in it is unknown."""
        beyond_model_s = _beyond_model_s(self, fleet) if self.model.knows(fleet) else 0.0
        return self.model.estimate(fleet, self.remaining_steps, beyond_model_s)

    @cached_property
    def model_error(self) -> float:
        """The share by which a measured step of the present fleet takes longer than by the model; never negative."""
        measured_s = self.situation.step_time_s
        if measured_s is None or not self.knows_current:
            return 0.0
        current = self.situation.current
        held_s = held_up_s(self.model, self.situation.bad_nodes, current, current)
        by_model_s = step_now_s(without_credits(self), self.situation.bursts, current) + held_s
        return max(0.0, measured_s / by_model_s - 1)

    # What a switch comes to

    @cached_property
    def stay(self) -> Forecast:
        """The rest of the work with the present fleet."""
        return self.forecast(self.situation.current)

    def forecast(self, target: Fleet) -> Forecast:
        """Returns the forecast for `target`. The present fleet works until the new nodes have joined."""
        current, settings = self.situation.current, self.situation.settings
        change = exchange(current, target)
        moves = moves_needed(change, self.situation.surge, self.bounds)
        overlap_s = moves * settings.switching.grow_s * bool(change.added) + (moves - 1) * settings.cooldown_s
        pauses = moves * (bool(change.added) + bool(change.removed))
        usd_per_hour = paid_usd_per_hour(self, target)
        switch_usd = self.switching_usd(current, target)
        return self._ahead(target, self.step_time_s(target), usd_per_hour, overlap_s, pauses, switch_usd)

    def replacement(self, spare: Fleet, bad_nodes: tuple[str, ...]) -> Forecast:
        """Returns the forecast for a present fleet that grows to `spare`, and then ends these bad nodes only."""
        current, settings = self.situation.current, self.situation.settings
        usd_per_hour = self.model.fleet_usd_per_hour(current)
        spare_usd = (self.model.fleet_usd_per_hour(spare) - usd_per_hour) * settings.cooldown_s / SECONDS_PER_HOUR
        switch_usd = self.switching_usd(current, spare) + spare_usd + self.switching_usd(spare, current)
        overlap_s = settings.switching.grow_s + settings.cooldown_s
        others = without(self.situation.bad_nodes, bad_nodes)
        step_s = self.model.step_time_s(current) + held_up_s(self.model, others, current, current)
        usd_per_hour += self.model.traffic.usd_of(current) / step_s * SECONDS_PER_HOUR
        return replace(self._ahead(spare, step_s, usd_per_hour, overlap_s, 2, switch_usd), bad_nodes=bad_nodes)

    def _ahead(
        self, target: Fleet, step_s: float, usd_per_hour: float, overlap_s: float, pauses: int, switch_usd: float
    ) -> Forecast:
        """Returns the forecast where the present fleet works on for `overlap_s` and a step then takes `step_s`."""
        current, steps, before_usd = self.situation.current, float(self.remaining_steps), 0.0
        if self.knows_current:
            overlap_s = min(overlap_s, steps * self.step_time_s(current))
            steps -= overlap_s / self.step_time_s(current)
            before_usd = paid_usd_per_hour(self, current) * overlap_s
        after_s = steps * step_s
        remaining_s = overlap_s + pauses * self.situation.settings.switching.pause_s + after_s
        work_usd = (before_usd + usd_per_hour * after_s) / SECONDS_PER_HOUR
        return Forecast(target, remaining_s, work_usd + switch_usd, switch_usd)

    def switching_usd(self, source: Fleet, target: Fleet) -> float:
        """Returns the dollars of a move from one fleet to another."""
        settings = self.situation.settings
        return switching_usd(source, target, self.model.usd_per_hour, settings.head_usd_per_hour, settings.switching)

    def worth(self, forecast: Forecast) -> float:
        """Returns the dollars, or the seconds, by which the objective judges a forecast. Less is better."""
        is_cost = self.situation.settings.objective is Objective.COST
        return forecast.remaining_usd if is_cost else forecast.remaining_s

    # Deadline and budget

    def as_measured(self, forecast: Forecast) -> Forecast:
        """Returns the forecast with the error of the model: the rest takes longer by the same share on every fleet."""
        if not self.model_error:
            return forecast
        extra_s = self.model_error * forecast.remaining_s
        extra_usd = self.model.fleet_usd_per_hour(forecast.target) * extra_s / SECONDS_PER_HOUR
        needed_s, needed_usd = forecast.remaining_s + extra_s, forecast.remaining_usd + extra_usd
        return replace(forecast, remaining_s=needed_s, remaining_usd=needed_usd)

    def to_spare(self, forecast: Forecast) -> float:
        """Returns the share of the needed time or money that is to spare, the smaller one; inf without limits."""
        needed = self.as_measured(forecast)
        pairs = ((self.time_left_s, needed.remaining_s), (self.money_left_usd, needed.remaining_usd))
        return min((left / max(need, 1e-9) - 1 for left, need in pairs if left is not None), default=math.inf)

    def keeps(self, forecast: Forecast, margin: float) -> bool:
        """Tells whether deadline and budget are kept with this share to spare."""
        return self.to_spare(forecast) >= margin

    def overrun(self, forecast: Forecast, margin: float) -> Overrun:
        """Returns what the fleet needs beyond deadline and budget, which are to be kept with this share to spare."""
        needed = self.as_measured(forecast)
        lacks_s = lacks_usd = 0.0
        if self.time_left_s is not None:
            lacks_s = max(0.0, needed.remaining_s - self.time_left_s / (1 + margin))
        if self.money_left_usd is not None:
            lacks_usd = max(0.0, needed.remaining_usd - self.money_left_usd / (1 + margin))
        return Overrun(lacks_s, lacks_usd)

    @cached_property
    def forced(self) -> Constrained | None:
        """Why the present fleet cannot stay: a limit, the deadline or the budget. None where it can."""
        current = self.situation.current
        if self.violation:
            return BreaksLimit(current, self.violation)
        if self.keeps(self.stay, LEAST_MARGIN):
            return None
        stay = self.as_measured(self.stay)
        if self.time_left_s is not None and stay.remaining_s * (1 + LEAST_MARGIN) > self.time_left_s:
            return TooSlowForDeadline(current, stay.remaining_s, self.time_left_s)
        assert self.money_left_usd is not None
        return TooExpensiveForBudget(current, stay.remaining_usd, self.money_left_usd)

    def bounds_within(self, margin: float, *, grows: bool = True) -> Bounds:
        """Returns the bounds with what deadline and budget leave for a step.

        The dollars of the switch are left out, since they depend on the fleet.

        Args:
            margin: The share to spare.
            grows: Whether the fleet grows, so that the present one works until the new nodes have joined.
        """
        switching, current = self.situation.settings.switching, self.situation.current
        grow_s = switching.grow_s if grows else 0.0
        rate, done = 0.0, 0.0
        if self.knows_current:
            rate, done = paid_usd_per_hour(self, current), grow_s / self.step_time_s(current)
        steps = max(1.0, self.remaining_steps - done)
        max_step_s = max_usd = None
        if self.time_left_s is not None:
            room_s = self.time_left_s / (1 + margin) - grow_s - 2 * switching.pause_s
            max_step_s = max(0.0, room_s / steps / (1 + self.model_error))
        if self.money_left_usd is not None:
            spent_usd = rate * grow_s / SECONDS_PER_HOUR
            max_usd = max(0.0, (self.money_left_usd / (1 + margin) - spent_usd) / steps)
        return replace(self.bounds, max_step_s=max_step_s, max_usd_per_step=max_usd)


def paid_usd_per_hour(forecaster: Forecaster, target: Fleet) -> float:
    """Returns the dollars an hour while the fleet trains: the head and the traffic between zones included."""
    model = forecaster.model
    traffic_usd_per_s = model.traffic.usd_of(target) / forecaster.step_time_s(target)
    return model.fleet_usd_per_hour(target) + traffic_usd_per_s * SECONDS_PER_HOUR


def without_credits(forecaster: Forecaster) -> FleetModel:
    """Returns the model with the speeds that flavors have without CPU credits."""
    return forecaster.lasting or forecaster.model


def while_credits_last(forecaster: Forecaster, seconds: float) -> Forecaster:
    """Returns the forecaster for a search, by the mean speeds that nodes have for so long from now on."""
    lasting = without_credits(forecaster)
    speeds = mean_speeds(lasting, forecaster.situation.bursts, seconds)
    return replace(forecaster, model=lasting.with_speeds(speeds), lasting=lasting)


def _beyond_model_s(forecaster: Forecaster, target: Fleet) -> float:
    """Returns by how many seconds bad nodes and CPU credits change a step of the model."""
    situation, model = forecaster.situation, forecaster.model
    held_s = held_up_s(model, situation.bad_nodes, situation.current, target)
    if not situation.bursts:
        return held_s
    steps, lasting = forecaster.remaining_steps, without_credits(forecaster)
    step_s = mean_step_s(lasting, situation.bursts, situation.current, target, steps)
    return held_s + step_s - model.step_time_s(target)
