"""What the policy `cheapest-fleet` takes for true, and how sure it has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from controller.decide.exploration.leaps import Leap, is_better_than
from controller.decide.exploration.probes import Exploration
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.hardware.prior import expected_speeds
from controller.decide.model.situation import Situation
from controller.decide.policies.stability import overlap_reason, waiting_reason
from controller.domain import Decision, Risk, Verdict
from controller.domain.reasons import Reason
from controller.domain.reasons.deciding import LeapsToUnmeasured, LeapsWithinLimits, MeasuresFlavors
from controller.domain.reasons.limits import Constrained


class Beliefs(Protocol):
    """What is taken for true about speeds, and what has to be measured first."""

    def waiting(self, situation: Situation) -> Reason | None:
        """Returns what has to be measured before anything can be decided; None where nothing has."""
        ...

    def silent(self, situation: Situation) -> Sequence[str]:
        """Returns the flavors that run and never reported, which must not win by a guess."""
        ...

    def model(self, situation: Situation) -> FleetModel | None:
        """Returns the model of fleets; None while the batch is unknown."""
        ...

    def too_uncertain(self, forecaster: Forecaster, then: Forecast) -> Constrained | None:
        """Returns why the evidence for a move is too thin; None where it is enough."""
        ...

    def probe(self, forecaster: Forecaster, decision: Decision, base: Forecast) -> Decision | None:
        """Returns a move that measures promising flavors on top of what is due; None where none is worth it."""
        ...


class Measurements:
    """Believes what was measured, within its uncertainty, and measures more where that pays."""

    def waiting(self, situation: Situation) -> Reason | None:
        """Returns which flavors that run have too few facts yet."""
        return waiting_reason(situation)

    def silent(self, situation: Situation) -> Sequence[str]:
        """Returns the flavors that run and were not measured in their time."""
        return situation.unmeasured(situation.current.present)

    def model(self, situation: Situation) -> FleetModel | None:
        """Returns what was measured, and of nodes that run and never report a guess, so that they can be replaced."""
        model, silent = situation.model(), self.silent(situation)
        if model is None or not silent:
            return model
        guesses = expected_speeds(silent, situation.measured, situation.usd_per_hour, situation.settings)
        return situation.model({**situation.measured, **guesses})

    def too_uncertain(self, forecaster: Forecaster, then: Forecast) -> Constrained | None:
        """Returns why the evidence is too thin. That a node is bad is certain enough."""
        return None if then.bad_nodes else overlap_reason(forecaster, then.target)

    def probe(self, forecaster: Forecaster, decision: Decision, base: Forecast) -> Decision | None:
        """Returns a move to the base fleet with a node of each flavor that is worth measuring, or a leap."""
        exploration = Exploration(forecaster, base)
        target, probes = exploration.worthwhile()
        probing_usd = max((probe.gain_usd - probe.cost_usd for probe in probes), default=0.0)
        leap = exploration.leap()
        if leap is not None and is_better_than(leap, probing_usd, base.remaining_usd):
            return _leap(decision, leap)
        if not probes:
            return None
        reason = MeasuresFlavors(
            {probe.flavor: probe.gain_usd for probe in probes},
            exploration.cost.planned_usd(target, {probe.flavor: probe.guess.tokens_per_s for probe in probes}),
            also=decision.reason if decision.verdict is Verdict.MOVE else None,
        )
        return replace(decision, verdict=Verdict.MOVE, target=target, reason=reason, is_probe=True)


def _leap(decision: Decision, leap: Leap) -> Decision:
    """Returns the decision to move to a flavor that was never measured."""
    reason: Reason = LeapsToUnmeasured(leap.target, leap.flavor, leap.saving_usd, leap.chance_worse, leap.worse_usd)
    if leap.is_needed:
        reason = LeapsWithinLimits(leap.target, leap.flavor, leap.chance_kept, -leap.saving_usd)
    return replace(
        decision,
        verdict=Verdict.MOVE,
        target=leap.target,
        reason=reason,
        saving_usd=leap.saving_usd,
        switching_usd=leap.switching_usd,
        risk=_risk(decision, leap),
    )


def _risk(decision: Decision, leap: Leap) -> Risk | None:
    """Returns how sure a leap is, beside the move that is due without it; None where people do not ask."""
    if decision.risk is None:
        return None
    kept = None if decision.risk.chance_kept is None else leap.chance_kept
    return Risk(decision.target, leap.chance_worse, wrong_usd=leap.worse_usd, chance_kept=kept)
