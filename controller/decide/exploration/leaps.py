"""Moves to flavors that were never measured, on what is expected of them: where measuring first would take too long.

A probe finds out how fast a flavor is before the fleet moves, and the present fleet works on for many minutes. A leap
moves at once. If the flavor is slower than expected, the fleet moves on, to the best of what is known. What a leap is
worth is its mean over the speeds that the flavor may have, each with the better of both continuations (a two-stage
stochastic program with recourse: Birge and Louveaux, "Introduction to Stochastic Programming", chapter 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

from controller.decide.exploration.outlook import Outlook
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster, paid_usd_per_hour
from controller.decide.model.speeds import Speed
from controller.domain import SECONDS_PER_HOUR, Fleet

POINTS = 8
QUANTILES = tuple(NormalDist().inv_cdf((number + 0.5) / POINTS) for number in range(POINTS))
"""Speeds of equal chance, in standard errors from the expected one."""
MOST_JUDGED = 4
"""The most flavors that are judged: those that are expected to be the cheapest per token."""
BETTER_THAN_PROBING = 0.01
"""A leap is preferred to a probe where it is expected to save this share of the rest of the work more."""
MORE_BY_PROBING = 0.10
"""Beside a leap that is nearly sure and leaves time, a probe is preferred only where it is expected to gain more than
the leap saves, by this share of what is left to pay after the leap. The other flavors can still be measured then, and
more cheaply than beside a present fleet that is dear.
"""
NEARLY_SURE = 1 / POINTS
"""The chance to cost more with which a leap still is nearly sure."""
LEAVES_ROUNDS = 16
"""A leap leaves time where the rest of the work takes as many times as long as to measure other flavors and move on."""
LEAST_SAVING = 0.02
"""A leap must be expected to save this share of the rest of the work, beyond what it may cost where it is wrong."""
LEAST_CHANCE = 0.25
"""The least chance to keep a deadline or a budget that no known fleet keeps."""


@dataclass(frozen=True)
class Leap:
    """A move to a fleet of a flavor that was never measured."""

    flavor: str
    target: Fleet
    saving_usd: float
    """What it is expected to save. With the objective time, seconds count as what the present fleet costs meanwhile."""
    chance_worse: float
    """The chance that it costs more than it saves, 0 to 1."""
    worse_usd: float
    """How much more, on average where it does."""
    chance_kept: float
    """The chance that deadline and budget are kept."""
    switching_usd: float
    """What the move there costs, without a move to leave it again."""
    is_needed: bool = False
    """Whether no fleet of measured flavors keeps deadline and budget."""
    leaves_time: bool = False
    """Whether there is time after it to measure other flavors and to move on."""


@dataclass(frozen=True)
class Leaps:
    """The leaps from the present fleet, beside the move to the fleet `base` that is due anyway."""

    outlook: Outlook
    base: Forecast
    guesses: Mapping[str, Speed]

    def best(self) -> Leap | None:
        """Returns the leap that is expected to save the most; None where none is worth its risk."""
        worthwhile = [leap for leap in self._judged() if self._is_worthwhile(leap)]
        return max(worthwhile, key=lambda leap: (self._chance_that_counts(leap), leap.saving_usd), default=None)

    def _chance_that_counts(self, leap: Leap) -> float:
        """Returns the chance to keep a deadline or a budget, up to the confidence that is asked for. More is no better.

        It is 0 where they are kept anyway.
        """
        return min(leap.chance_kept, self._forecaster.confidence) if self._is_in_need else 0.0

    @property
    def _forecaster(self) -> Forecaster:
        return self.outlook.forecaster

    @property
    def _is_in_need(self) -> bool:
        """Tells whether deadline or budget are not kept without a leap."""
        return not self._forecaster.keeps(self.base, LEAST_MARGIN)

    def _is_worthwhile(self, leap: Leap) -> bool:
        if self._is_in_need:
            return leap.chance_kept >= LEAST_CHANCE
        needed_usd = LEAST_SAVING * self.base.remaining_usd + leap.chance_worse * leap.worse_usd
        return leap.chance_kept >= 1.0 and leap.saving_usd > needed_usd

    def _judged(self) -> Iterator[Leap]:
        """Yields what to expect of the leaps to the most promising flavors."""
        model = self._forecaster.model
        cost = {f: model.usd_per_hour[f] / guess.harmonic for f, guess in self.guesses.items()}
        for flavor in sorted(cost, key=lambda f: (cost[f], f))[:MOST_JUDGED]:
            guess = self.guesses[flavor]
            for fleet in self._fleets(flavor, guess):
                if fleet.count(flavor):
                    yield self._leap(flavor, guess, fleet)

    def _fleets(self, flavor: str, guess: Speed) -> Iterable[Fleet]:
        """Returns the best fleet if the flavor has its expected speed, which is the fastest one if time is short.

        Where no known fleet keeps deadline and budget, there is also the best one of those that keep them even if the
        flavor has its lowest speed.
        """
        model = self._forecaster.model
        fleets = [self.outlook.ahead(model.with_speeds({flavor: guess.harmonic})).fleet]
        if self._is_in_need:
            fleets.append(self.outlook.kept(model.with_speeds({flavor: guess.at(QUANTILES[0])})))
        return dict.fromkeys(fleets)

    def _leap(self, flavor: str, guess: Speed, fleet: Fleet) -> Leap:
        forecaster = self._forecaster
        outcomes = [self._outcome(flavor, guess.at(z), fleet) for z in QUANTILES]
        base_usd = self.outlook.worth_of(self.base)
        gains = [base_usd - self.outlook.worth_of(outcome) for outcome in outcomes]
        losses = [-gain for gain in gains if gain < 0]
        there = forecaster.model.with_speeds({flavor: guess.harmonic})
        left_s = fmean(outcome.remaining_s for outcome in outcomes)
        return Leap(
            flavor,
            fleet,
            saving_usd=fmean(gains),
            chance_worse=len(losses) / POINTS,
            worse_usd=fmean(losses) if losses else 0.0,
            chance_kept=sum(forecaster.keeps(outcome, LEAST_MARGIN) for outcome in outcomes) / POINTS,
            switching_usd=forecaster.switching_usd(forecaster.situation.current, fleet),
            is_needed=self._is_in_need,
            leaves_time=left_s >= LEAVES_ROUNDS * self._round_s(there, fleet),
        )

    def _round_s(self, there: FleetModel, fleet: Fleet) -> float:
        """Returns how long it takes beside a fleet to measure other flavors and to move on."""
        settings = self._forecaster.situation.settings
        return settings.cooldown_s + 2 * settings.switching.grow_s + settings.probe_steps * there.step_time_s(fleet)

    def _outcome(self, flavor: str, tokens_per_s: float, fleet: Fleet) -> Forecast:
        """Returns the better continuation if the flavor has this speed: to stay with it, or to leave it again.

        Deadline and budget come first.
        """
        forecaster = self._forecaster
        there = replace(forecaster, model=forecaster.model.with_speeds({flavor: tokens_per_s}))
        stays = there.forecast(fleet)
        both = (stays, self._left_again(there, stays))
        return min(both, key=lambda one: (not forecaster.keeps(one, LEAST_MARGIN), forecaster.worth(one)))

    def _left_again(self, there: Forecaster, stays: Forecast) -> Forecast:
        """Returns the forecast if the fleet moves on to the base fleet once the flavor is measured."""
        current, fleet, base = there.situation.current, stays.target, self.base.target
        settings, model = there.situation.settings, there.model
        before_s = settings.switching.grow_s
        steps_s = settings.minimum_steps * there.step_time_s(fleet)
        trial_s = max(settings.cooldown_s, steps_s) + settings.switching.grow_s
        steps = there.remaining_steps - before_s / there.step_time_s(current) - trial_s / there.step_time_s(fleet)
        if steps <= 0 or not model.knows(base):
            return stays
        rest_s = steps * there.step_time_s(base)
        parts = ((current, before_s), (fleet, trial_s), (base, rest_s))
        work_usd = sum(paid_usd_per_hour(there, part) * seconds for part, seconds in parts) / SECONDS_PER_HOUR
        switch_usd = there.switching_usd(current, fleet) + there.switching_usd(fleet, base)
        seconds = before_s + trial_s + rest_s + 4 * settings.switching.pause_s
        return Forecast(fleet, seconds, work_usd + switch_usd, switch_usd)


def is_better_than(leap: Leap, probing_usd: float, remaining_usd: float) -> bool:
    """Tells whether a leap is to be preferred to a probe.

    One that is needed is, whatever it costs: a probe would take time or money that is short.

    Args:
        leap: The best leap.
        probing_usd: What probes are expected to gain beyond their cost; 0 where none is worth it.
        remaining_usd: What the rest of the work costs without either.
    """
    if not math.isfinite(leap.saving_usd):
        return False
    if leap.is_needed:
        return True
    if probing_usd <= 0:
        return leap.saving_usd > 0
    more_usd = BETTER_THAN_PROBING * remaining_usd
    if leap.leaves_time and leap.chance_worse <= NEARLY_SURE:
        more_usd = -MORE_BY_PROBING * max(0.0, remaining_usd - leap.saving_usd)
    return leap.saving_usd > max(0.0, probing_usd + more_usd)
