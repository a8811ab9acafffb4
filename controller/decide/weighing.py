"""What the best move would be, and whether it is worth the switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from controller.decide.bounds import Bounds, Found
from controller.decide.limits import violation
from controller.decide.model import FleetModel
from controller.decide.search import best_fleet
from controller.decide.settings import Objective
from controller.decide.situation import Situation
from controller.decide.switching import switching_usd
from controller.domain import SECONDS_PER_HOUR, Fleet, Limits

COMPELLING_MARGIN = 0.005
"""The present fleet may stay while it is expected to keep deadline and budget with this share to spare."""


@dataclass(frozen=True)
class Forecast:
    """What the rest of the work takes and costs if the fleet becomes `target` now, the switch included."""

    target: Fleet
    remaining_s: float
    remaining_usd: float
    switching_usd: float


@dataclass(frozen=True)
class Choice:
    """The best target, and what it cannot do."""

    forecast: Forecast
    shortfall: str | None = None


@dataclass(frozen=True)
class Outlook:
    """A situation with a known present fleet, seen through a model."""

    situation: Situation
    model: FleetModel
    bounds: Bounds
    remaining_steps: int

    @cached_property
    def time_left_s(self) -> float | None:
        """Until the deadline; None without one."""
        deadline_at = self.situation.limits.deadline_at
        return None if deadline_at is None else deadline_at - self.situation.now

    @cached_property
    def money_left_usd(self) -> float | None:
        """Of the budget; None without one."""
        budget_usd = self.situation.limits.budget_usd
        return None if budget_usd is None else budget_usd - self.situation.history.spent_usd

    @cached_property
    def stay(self) -> Forecast:
        """The rest of the work with the present fleet."""
        return self.forecast(self.situation.current)

    @cached_property
    def stay_as_measured(self) -> Forecast:
        """The rest of the work with the present fleet at the pace that it really has."""
        step_s, stay = self.situation.step_time_s, self.stay
        if step_s is None or not self.model.knows(stay.target):
            return stay
        ratio = step_s / self.model.step_time_s(stay.target)
        return replace(stay, remaining_s=stay.remaining_s * ratio, remaining_usd=stay.remaining_usd * ratio)

    @cached_property
    def violation(self) -> str | None:
        """Which limit the present fleet breaks."""
        settings, current = self.situation.settings, self.situation.current
        return violation(current, self.bounds, self.model.usd_per_hour, settings.head_usd_per_hour)

    @cached_property
    def promised(self) -> Bounds:
        """The bounds with what deadline and budget leave for a step."""
        return self._with_promises(self.situation.settings.deadline_margin)

    def forecast(self, target: Fleet) -> Forecast:
        """The rest of the work if the fleet becomes `target`: the present one works until the new nodes have joined."""
        current, settings = self.situation.current, self.situation.settings
        switching = settings.switching
        knows_current = self.model.knows(current)
        grows = any(target.count(f) > current.count(f) for f in target)
        overlap_s = switching.grow_s if grows else 0.0
        pauses_s = switching.pause_s * (grows + any(current.count(f) > target.count(f) for f in current))
        before_s = self.model.step_time_s(current) if knows_current else float("inf")
        overlap_s = min(overlap_s, self.remaining_steps * before_s) if knows_current else overlap_s
        steps_before = overlap_s / before_s
        after_s = (self.remaining_steps - steps_before) * self.model.step_time_s(target)
        switch_usd = switching_usd(
            current, target, self.model.usd_per_hour, settings.head_usd_per_hour, settings.switching
        )
        before_usd = self.model.fleet_usd_per_hour(current) * overlap_s if knows_current else 0.0
        work_usd = (before_usd + self.model.fleet_usd_per_hour(target) * after_s) / SECONDS_PER_HOUR
        return Forecast(target, overlap_s + pauses_s + after_s, work_usd + switch_usd, switch_usd)

    def keeps(self, forecast: Forecast, margin: float) -> bool:
        """Whether deadline and budget are kept with this share to spare."""
        forecast = self.stay_as_measured if forecast == self.stay else forecast
        in_time = self.time_left_s is None or forecast.remaining_s * (1 + margin) <= self.time_left_s
        return in_time and (self.money_left_usd is None or forecast.remaining_usd * (1 + margin) <= self.money_left_usd)

    @cached_property
    def compulsion(self) -> str | None:
        """Why the present fleet cannot stay: a limit, the deadline or the budget."""
        if self.violation:
            return f"{self.situation.current} may not stay: {self.violation}"
        stay = self.stay_as_measured
        if self.time_left_s is not None and stay.remaining_s * (1 + COMPELLING_MARGIN) > self.time_left_s:
            needs = f"{self.situation.current} needs {_hours(stay.remaining_s)}"
            return f"{needs} and the deadline is in {_hours(self.time_left_s)}"
        if self.money_left_usd is not None and stay.remaining_usd * (1 + COMPELLING_MARGIN) > self.money_left_usd:
            return (
                f"{self.situation.current} needs ${stay.remaining_usd:.4f} more and"
                f" ${self.money_left_usd:.4f} are left of the budget"
            )
        return None

    def worth(self, forecast: Forecast) -> float:
        """What a forecast is judged by: dollars, or seconds, for the rest of the work. Less is better."""
        is_cost = self.situation.settings.objective is Objective.COST
        return forecast.remaining_usd if is_cost else forecast.remaining_s

    def best(self) -> Choice | None:
        """The best allowed target, the present fleet included; None where no allowed fleet is known.

        Where no fleet keeps the deadline the fastest is taken, where none keeps the budget the cheapest.
        """
        settings = self.situation.settings
        margin = settings.deadline_margin
        kept = [f for f in self._candidates(settings.objective, margin) if self.keeps(f, margin)]
        if kept:
            return Choice(min(kept, key=self.worth))
        # Money is saved only with the margin in hand: a fleet on the edge would have to be left again at once.
        if self.violation is None and self.model.knows(self.situation.current) and self.compulsion is None:
            return Choice(self.stay)
        edge = [f for f in self._candidates(settings.objective, 0.0) if self.keeps(f, 0.0)]
        fastest = [f for f in self._candidates(Objective.TIME, 0.0) if self.keeps(f, 0.0)]
        if fastest and self.time_left_s is not None:
            return Choice(min(fastest, key=lambda forecast: forecast.remaining_s))
        return Choice(min(edge, key=lambda forecast: forecast.remaining_usd)) if edge else self._least_bad()

    def _least_bad(self) -> Choice | None:
        """The best that can be done where deadline or budget cannot be kept."""
        free = replace(self, situation=replace(self.situation, limits=self._without_promises()))
        fastest = min(free._candidates(Objective.TIME, 0.0), key=lambda f: f.remaining_s, default=None)
        cheapest = min(free._candidates(Objective.COST, 0.0), key=lambda f: f.remaining_usd, default=None)
        if fastest is None or cheapest is None:
            return None
        if self.time_left_s is not None and fastest.remaining_s > self.time_left_s:
            needs = f"even the fastest fleet allowed, {fastest.target}, needs {_hours(fastest.remaining_s)}"
            return Choice(fastest, f"the deadline in {_hours(self.time_left_s)} cannot be kept: {needs}")
        if self.money_left_usd is not None and cheapest.remaining_usd > self.money_left_usd:
            needs = f"even the cheapest fleet allowed, {cheapest.target}, needs ${cheapest.remaining_usd:.4f}"
            return Choice(cheapest, f"the ${self.money_left_usd:.4f} left of the budget are not enough: {needs}")
        return Choice(fastest, "deadline and budget cannot both be kept: the deadline comes first")

    def _without_promises(self) -> Limits:
        return replace(self.situation.limits, deadline_at=None, budget_usd=None)

    def _candidates(self, objective: Objective, margin: float) -> Iterator[Forecast]:
        """The present fleet, the best fleet, and the best that can be had by ending nodes only."""
        current = self.situation.current
        if self.violation is None and self.model.knows(current):
            yield self.stay
        within = self._with_promises(margin)
        found = self._plain(best_fleet(self.model, within, objective), within, objective)
        if found is not None and found.fleet != current:
            yield self.forecast(found.fleet)
        kept = {flavor: min(cap, current.count(flavor)) for flavor, cap in self.bounds.caps.items()}
        fewer = best_fleet(self.model, replace(self._with_promises(margin, 0.0), caps=kept), objective)
        if fewer is not None and fewer.fleet != current:
            yield self.forecast(fewer.fleet)

    def _plain(self, found: Found | None, within: Bounds, objective: Objective) -> Found | None:
        """The best fleet, or one of a single flavor that is as good but for `mixed_margin`."""
        if found is None or len(found.fleet.present) < 2:
            return found
        allowed = 1 + self.situation.settings.mixed_margin
        singles = []
        for flavor in found.fleet.present:
            single = best_fleet(self.model, replace(within, caps={flavor: within.caps[flavor]}), objective)
            if single is not None and single.value(objective) <= allowed * found.value(objective):
                singles.append(single)
        return min(singles, key=lambda single: single.value(objective), default=found)

    def _with_promises(self, margin: float, grow_s: float | None = None) -> Bounds:
        """The bounds with what deadline and budget leave for a step after a switch."""
        switching = self.situation.settings.switching
        overlap_s = switching.grow_s if grow_s is None else grow_s
        current = self.situation.current
        done = overlap_s / self.model.step_time_s(current) if self.model.knows(current) else 0.0
        steps = max(1.0, self.remaining_steps - done)
        max_step_s = max_usd = None
        if self.time_left_s is not None:
            room_s = self.time_left_s / (1 + margin) - overlap_s - 2 * switching.pause_s
            max_step_s = max(0.0, room_s / steps)
        if self.money_left_usd is not None:
            # What the switch itself costs depends on the target; the share to spare has to pay for it.
            spent = overlap_s * self.model.fleet_usd_per_hour(current) / SECONDS_PER_HOUR if done else 0.0
            max_usd = max(0.0, (self.money_left_usd / (1 + margin) - spent) / steps)
        return replace(self.bounds, max_step_s=max_step_s, max_usd_per_step=max_usd)


def _hours(seconds: float) -> str:
    """A duration for people."""
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / SECONDS_PER_HOUR:.2f} h"
