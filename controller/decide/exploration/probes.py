"""Which flavors are worth measuring: those that could win, while that pays, within the probe budget.

The probe budget is a bound and not a plan. It covers a probe that does no work at all. It also covers a probe that
makes the rest of the training so cheap that the cost of the probe is a large share of it. Deadline and budget have to
leave room for the probe as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from controller.decide.exploration.leaps import Leap, Leaps
from controller.decide.exploration.outlook import Outlook
from controller.decide.exploration.probe_cost import ProbeCost
from controller.decide.exploration.second_looks import Look
from controller.decide.limits.surge import exchange
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.speeds import INTERVAL_Z, Speed
from controller.domain import Fleet
from controller.domain.batches import Batches

HOPE_Z, HOPE_SHARE = 2.6, 0.01
"""A flavor is given up when it could not win even if it were faster than expected by this much (`Speed.at`)."""
OTHER_QUANTILES = ((INTERVAL_Z, 0.03), (1.48, 0.06), (0.93, 0.15), (0.32, 0.25), (-0.32, 0.25), (-1.15, 0.25))
"""The other quantiles and their weights: with the best case they integrate over the distribution of the speed. Each is
the middle of its share, and the shares are the smaller the higher the speed: few flavors win, and those win much."""
MAX_JUDGED = 9
"""The most flavors that are judged: those that could win the most."""
MAX_PROBES_PER_MOVE = 5
IDLE_TOKENS_PER_S = 1e-6
"""The speed of a probe that does no work."""


@dataclass(frozen=True)
class Probe:
    """A flavor worth measuring, with the expected cost of measuring it and the gain on the rest of the work."""

    flavor: str
    guess: Speed
    cost_usd: float
    gain_usd: float
    least_usd: float = math.inf
    """Cost of the rest of the work if the flavor is as fast as the upper end of its 95% interval, or as it is if its
    only node was a bad one."""
    chance_bad: float = 0.0
    """That the only node that was measured so far is a bad one."""
    if_bad_usd: float = 0.0
    """The gain then."""


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
    def outlook(self) -> Outlook:
        """What is to be gained."""
        return Outlook(self.forecaster)

    @cached_property
    def guesses(self) -> Mapping[str, Speed]:
        """The expected speeds of the flavors that could be measured."""
        return self.outlook.guesses(self.base.target)

    @cached_property
    def _share_left(self) -> float:
        """The share of the work that is left when a probe has grown, is measured, and its flavor has been grown."""
        lost_s = self.cost.until_measured_s + 2 * self.forecaster.situation.settings.switching.grow_s
        return max(0.0, 1 - lost_s / max(self.base.remaining_s, 1e-9))

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

    def leap(self) -> Leap | None:
        """Returns the best move to a flavor that was never measured; None where none is worth its risk.

        Where nothing may be spent on measuring, flavors are left alone that were never measured.
        """
        if not self._is_sensible or not self.forecaster.situation.settings.probe_share:
            return None
        return Leaps(self.outlook, self.base, self.guesses).best()

    @property
    def _is_sensible(self) -> bool:
        """Whether the present fleet is known, and a slow probe does not hold up the other nodes."""
        return self.forecaster.model.batches is Batches.BALANCED and self.forecaster.knows_current

    # What measuring gains

    def _promising(self) -> list[Probe]:
        """Returns the flavors that are expected to gain more than measuring costs, best for the money first."""
        hopeful = sorted(self._hopeful(), key=lambda probe: -max(probe.gain_usd, probe.if_bad_usd))[:MAX_JUDGED]
        expected = [self._expected(probe) for probe in hopeful]
        return sorted((p for p in expected if p.gain_usd > p.cost_usd), key=_by_yield)

    def _hopeful(self) -> Iterator[Probe]:
        """Yields the flavors that could win, with their gain at best."""
        margin_usd = self.forecaster.situation.settings.saving_margin * self.base.remaining_usd
        for flavor, look in self._looks().items():
            grown, guess = self._with_node(self.base.target, flavor), look.shown
            if grown is not None:
                gain_usd, _ = self._gain(flavor, guess.at(HOPE_Z))
                if_bad_usd, least_usd = self._gain(flavor, look.if_bad) if look.chance_bad else (0.0, math.inf)
                cost_usd = self.cost.planned_usd(grown, {flavor: guess.tokens_per_s})
                if max(gain_usd, if_bad_usd) > cost_usd + margin_usd:
                    yield Probe(flavor, guess, cost_usd, gain_usd, least_usd, look.chance_bad, if_bad_usd)

    def _looks(self) -> Mapping[str, Look]:
        """Returns what measuring may show of each flavor."""
        never = {flavor: Look(guess) for flavor, guess in self.guesses.items()}
        return {**self.outlook.closer_looks(self.base.target), **never}

    def _gain(self, flavor: str, tokens_per_s: float) -> tuple[float, float]:
        """Returns the gain of a flavor of this speed, and the cost of the rest of the work with it, in dollars.

        The gain begins when the probe is measured, and the move to the flavor's fleet has to be paid for.
        """
        known = self.outlook.known
        ahead = self.outlook.ahead(self.forecaster.model.with_speeds({flavor: tokens_per_s}))
        gain_usd = self.outlook.aim.weight * (known.worth - ahead.worth)
        if 0 < gain_usd < math.inf:
            gain_usd = self._share_left * gain_usd - self.forecaster.switching_usd(self.base.target, ahead.fleet)
        return gain_usd, ahead.usd

    def _expected(self, probe: Probe) -> Probe:
        """Returns the probe, whose best gain is known, with its expected gain, and the rest's cost at a high speed."""
        expected_usd, least_usd = HOPE_SHARE * max(0.0, probe.gain_usd), probe.least_usd
        for z, share in OTHER_QUANTILES:
            gain_usd, rest_usd = self._gain(probe.flavor, probe.guess.at(z))
            least_usd = min(least_usd, rest_usd) if z == INTERVAL_Z else least_usd
            if gain_usd <= 0:
                break
            expected_usd += share * gain_usd
        gain_usd = (1 - probe.chance_bad) * expected_usd + probe.chance_bad * max(0.0, probe.if_bad_usd)
        return replace(probe, gain_usd=gain_usd, least_usd=least_usd)

    # What can be afforded

    def _with_node(self, fleet: Fleet, flavor: str) -> Fleet | None:
        """Returns the fleet with another node of a flavor; None where the limits leave no room for it.

        Where the fleet is full, the node replaces one of the base fleet's most expensive flavor per token.
        """
        forecaster, model = self.forecaster, self.forecaster.model
        if fleet.count(flavor) >= forecaster.bounds.caps.get(flavor, 0):
            return None
        grown = fleet.with_count(flavor, fleet.count(flavor) + 1)
        if not self._has_room(grown):
            leaving = [f for f in fleet.present if f in self.base.target.present and f != flavor]
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

        They must fit into the probe budget if no probe does any work, and if one of them makes the rest cheap: by a
        speed at the upper end of its 95% interval, or because its only node was a bad one.
        """
        situation = self.forecaster.situation
        idle = dict.fromkeys((probe.flavor for probe in probes), IDLE_TOKENS_PER_S)
        cases = [(idle, self.outlook.known.usd)]
        cases += [({**idle, probe.flavor: probe.guess.high}, probe.least_usd) for probe in probes]
        for speeds, rest_usd in cases:
            most_usd = situation.settings.probe_share * (situation.history.spent_usd + rest_usd)
            if spent_usd + self.cost.planned_usd(target, speeds) > most_usd:
                return False
        return self.cost.keeps_deadline_and_budget(target, idle)


def _by_yield(probe: Probe) -> tuple[float, str]:
    """Returns a key that sorts the most gain for the cost first."""
    return probe.cost_usd / probe.gain_usd, probe.flavor
