"""The default policy: the fleet that is best for the remaining work, reached in one move, and only where it pays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from controller.decide.model.doubt import risk_of
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import Situation
from controller.decide.policies.beliefs import Beliefs, Measurements
from controller.decide.policies.decided import decided, nothing_to_decide
from controller.decide.policies.savings import gain, is_as_fast_for_less, too_small
from controller.decide.policies.stability import ending_reason, going_back_reason
from controller.decide.search.choice import Choice, best_choice, fastest_step_s
from controller.decide.search.compared import runners_up, scaling
from controller.domain import Decision, Fleet, Risk, Verdict
from controller.domain.reasons import Reason
from controller.domain.reasons.deciding import (
    BestAlready,
    NoMeasuredFleetAllowed,
    PricesUnknown,
    SpeedUnknown,
    WaitingForFacts,
)
from controller.domain.reasons.limits import Constrained


@dataclass(frozen=True)
class CheapestFleet:
    """Chooses the fleet with the least cost, or the least time, among all fleets within the limits."""

    name: str = "cheapest-fleet"
    beliefs: Beliefs = field(default_factory=Measurements)

    def decide(self, situation: Situation) -> Decision:
        """Compares the present fleet with the best one, and moves where that is worth the switch."""
        decision = nothing_to_decide(situation) or self._decide(situation)
        too_soon = going_back_reason(situation, decision.target) if decision.verdict is Verdict.MOVE else None
        return decided(situation, Verdict.STAY, too_soon) if too_soon else decision

    def _decide(self, situation: Situation) -> Decision:
        waiting = self.beliefs.waiting(situation)
        if waiting:
            return decided(situation, Verdict.STAY, waiting)
        model = self.beliefs.model(situation)
        if model is None:
            return decided(situation, Verdict.STAY, WaitingForFacts())
        ending = ending_reason(situation, model)
        if ending:
            return decided(situation, Verdict.STAY, ending)
        return self._compare(situation, model)

    def _compare(self, situation: Situation, model: FleetModel) -> Decision:
        """Finds the best fleet and weighs it against the present one."""
        silent = self.beliefs.silent(situation)
        caps = {f: cap for f, cap in situation.bounds.caps.items() if f not in silent}
        forecaster = Forecaster.of(situation, model, replace(situation.bounds, caps=caps))
        if not forecaster.knows_current and forecaster.violation is None:
            return decided(situation, Verdict.REFUSE, _incomparable(situation))
        choice = best_choice(forecaster)
        if choice is None:
            return decided(situation, Verdict.REFUSE, NoMeasuredFleetAllowed())
        verdict, reason = self._verdict(forecaster, choice)
        decision = _with_evidence(forecaster, verdict, replace(reason, shortfall=choice.shortfall), choice)
        base = choice.forecast if verdict is Verdict.MOVE else forecaster.stay
        return self.beliefs.probe(forecaster, decision, base) or decision

    def _verdict(self, forecaster: Forecaster, choice: Choice) -> tuple[Verdict, Constrained]:
        """Returns whether the chosen fleet is worth the switch, and why."""
        then = choice.forecast
        if then.target == forecaster.situation.current:
            return Verdict.STAY, BestAlready(then.target)
        if forecaster.forced:
            return Verdict.MOVE, forecaster.forced
        refusal = too_small(forecaster, then) or self.beliefs.too_uncertain(forecaster, then)
        if refusal and not is_as_fast_for_less(forecaster, then):
            return Verdict.REFUSE, refusal
        return Verdict.MOVE, gain(forecaster, then)


def _incomparable(situation: Situation) -> Reason:
    """Returns why it is not known what the present fleet costs."""
    faults = {f: fault for f, fault in situation.price_faults.items() if situation.current.count(f)}
    return PricesUnknown(faults) if faults else SpeedUnknown()


def _with_evidence(forecaster: Forecaster, verdict: Verdict, reason: Reason, choice: Choice) -> Decision:
    """Returns the decision with the fleets that were compared."""
    situation, then = forecaster.situation, choice.forecast
    compared = dict.fromkeys((situation.current, then.target, *runners_up(forecaster)))
    estimates = tuple(forecaster.estimate(fleet) for fleet in compared)
    saving = forecaster.stay.remaining_usd - then.remaining_usd if forecaster.knows_current else None
    switching = then.switching_usd if then.target != situation.current else None
    decision = decided(situation, verdict, reason, then.target, estimates, saving, switching)
    return replace(
        decision, scaling=scaling(forecaster, then.target), risk=_risk(forecaster, decision.target, compared)
    )


def _risk(forecaster: Forecaster, chosen: Fleet, compared: Iterable[Fleet]) -> Risk | None:
    """Returns how sure it is that the chosen fleet is the best of those compared; None where people do not ask."""
    if not forecaster.situation.settings.detailed:
        return None
    known = [fleet for fleet in compared if forecaster.model.knows(fleet)]
    rivals = [forecaster.forecast(fleet) for fleet in known if _may_be(forecaster, fleet)]
    return risk_of(forecaster, forecaster.forecast(chosen), rivals, fastest_step_s(forecaster))


def _may_be(forecaster: Forecaster, fleet: Fleet) -> bool:
    """Tells whether a fleet could have been chosen: the present one only where nothing forbids it to stay."""
    return fleet != forecaster.situation.current or forecaster.forced is None
