"""The cost of measuring flavors: as planned, at worst, and so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from controller.decide.limits.surge import exchange
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import LEAST_MARGIN, Forecaster
from controller.domain import SECONDS_PER_HOUR, Fleet, Move, MovePhase


@dataclass(frozen=True)
class ProbeCost:
    """The cost of probes on top of the fleet `base`, which is due anyway. A probe is a node that is to be measured."""

    forecaster: Forecaster
    base: Forecast

    def planned_usd(self, target: Fleet, tokens_per_s: Mapping[str, float]) -> float:
        """Returns the dollars for running `target` until its probes are measured, and for going back to the base.

        The cost of the work that is done meanwhile, as the base fleet would do it, is taken off.

        Args:
            target: The base fleet with the probes.
            tokens_per_s: The speeds of the probes, by flavor.
        """
        forecaster, base, current = self.forecaster, self.base.target, self.forecaster.situation.current
        model, measuring_s = forecaster.model.with_speeds(tokens_per_s), self.measuring_s(target)
        there_usd = forecaster.switching_usd(current, target) - forecaster.switching_usd(current, base)
        back_usd = forecaster.switching_usd(target, base)
        paid_usd = model.fleet_usd_per_hour(target) * measuring_s / SECONDS_PER_HOUR
        paid_usd += model.traffic.usd_of(target) * measuring_s / model.step_time_s(target)
        work_usd = model.usd_per_step(base) * measuring_s / model.step_time_s(target)
        return max(0.0, there_usd + back_usd) + max(0.0, paid_usd - work_usd)

    def keeps_deadline_and_budget(self, target: Fleet, tokens_per_s: Mapping[str, float]) -> bool:
        """Tells whether the probes leave deadline and budget as they are: kept, or not kept without probes either."""
        base, forecaster = self.base, self.forecaster
        if not forecaster.keeps(base, LEAST_MARGIN):
            return True
        step_s = forecaster.model.with_speeds(tokens_per_s).step_time_s(target)
        lost_s = self.measuring_s(target) * (1 - forecaster.model.step_time_s(base.target) / step_s)
        lost_usd = self.planned_usd(target, tokens_per_s)
        after = replace(base, remaining_s=base.remaining_s + lost_s, remaining_usd=base.remaining_usd + lost_usd)
        return forecaster.keeps(after, LEAST_MARGIN)

    def measuring_s(self, target: Fleet) -> float:
        """Returns how long probes run: until they are measured and the nodes that they replaced are back.

        A probe that is no good ends after the cool-down at the earliest, since the fleet goes back to what it was.
        """
        settings, base = self.forecaster.situation.settings, self.base.target
        measured_s = max(settings.cooldown_s, self.until_measured_s)
        return measured_s + settings.switching.grow_s * bool(exchange(target, base).added)

    @property
    def until_measured_s(self) -> float:
        """Seconds until enough steps of the probes were seen."""
        return self.forecaster.situation.settings.probe_steps * self.forecaster.model.step_time_s(self.base.target)

    def spent_usd(self) -> float:
        """Returns the dollars that all probes so far have cost."""
        pairs = pairwise([*self.forecaster.situation.history.moves, None])
        return sum(self._spent_on_usd(move, following) for move, following in pairs if move and move.is_probe)

    def _spent_on_usd(self, move: Move, following: Move | None) -> float:
        """Returns the dollars of one probe: idle nodes, pauses, and steps that cost more than without the probe."""
        model, situation = self.forecaster.model, self.forecaster.situation
        probes = Fleet({f: n for f, n in move.target.present.items() if not move.source.count(f)})
        ended_at = situation.now if move.ended_at is None else move.ended_at
        waiting_usd = _usd_per_s(probes, model) * (ended_at - move.at)
        if move.phase is not MovePhase.DONE:
            return waiting_usd
        running_s = (situation.now if following is None else following.changed_at) - ended_at
        pauses_usd = 2 * situation.settings.switching.pause_s * _usd_per_s(move.target, model)
        if not model.knows(move.target):
            return waiting_usd + pauses_usd + _usd_per_s(probes, model) * running_s
        without = Fleet({f: n for f, n in move.target.present.items() if f not in probes})
        others = [model.usd_per_step(fleet) for fleet in (without, move.source) if model.knows(fleet)]
        extra_usd = model.usd_per_step(move.target) - min(others, default=0.0)
        return waiting_usd + pauses_usd + max(0.0, extra_usd * running_s / model.step_time_s(move.target))


def _usd_per_s(fleet: Fleet, model: FleetModel) -> float:
    """Returns the dollars per second of the nodes with a price."""
    return sum(n * model.usd_per_hour.get(f, 0.0) for f, n in fleet.present.items()) / SECONDS_PER_HOUR
