"""The default policy: the fleet that is best for the remaining work, reached in one move, and only where it pays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.outlook import Outlook
from controller.decide.model.situation import Situation
from controller.decide.policies.base import nothing_to_decide
from controller.decide.policies.beliefs import Beliefs, Measurements
from controller.decide.policies.savings import gain, is_as_fast_for_less, too_small
from controller.decide.policies.stability import ending_reason
from controller.decide.search.choice import Choice, best_choice
from controller.decide.search.compared import runners_up, scaling
from controller.domain import Decision, Verdict
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
        return nothing_to_decide(situation) or self._decide(situation)

    def _decide(self, situation: Situation) -> Decision:
        waiting = self.beliefs.waiting(situation)
        if waiting:
            return situation.decision(Verdict.STAY, waiting)
        model = self.beliefs.model(situation)
        if model is None:
            return situation.decision(Verdict.STAY, WaitingForFacts())
        ending = ending_reason(situation, model)
        if ending:
            return situation.decision(Verdict.STAY, ending)
        return self._compare(situation, model)

    def _compare(self, situation: Situation, model: FleetModel) -> Decision:
        """Finds the best fleet and weighs it against the present one."""
        silent = self.beliefs.silent(situation)
        caps = {f: cap for f, cap in situation.bounds.caps.items() if f not in silent}
        outlook = Outlook.of(situation, model, replace(situation.bounds, caps=caps))
        if not outlook.knows_current and outlook.violation is None:
            return situation.decision(Verdict.REFUSE, _incomparable(situation))
        choice = best_choice(outlook)
        if choice is None:
            return situation.decision(Verdict.REFUSE, NoMeasuredFleetAllowed())
        verdict, reason = self._verdict(outlook, choice)
        decision = _with_evidence(outlook, verdict, replace(reason, shortfall=choice.shortfall), choice)
        base = choice.forecast if verdict is Verdict.MOVE else outlook.stay
        return self.beliefs.probe(outlook, decision, base) or decision

    def _verdict(self, outlook: Outlook, choice: Choice) -> tuple[Verdict, Constrained]:
        """Returns whether the chosen fleet is worth the switch, and why."""
        then = choice.forecast
        if then.target == outlook.situation.current:
            return Verdict.STAY, BestAlready(then.target)
        if outlook.compulsion:
            return Verdict.MOVE, outlook.compulsion
        refusal = too_small(outlook, then) or self.beliefs.too_uncertain(outlook, then)
        if refusal and not is_as_fast_for_less(outlook, then):
            return Verdict.REFUSE, refusal
        return Verdict.MOVE, gain(outlook, then)


def _incomparable(situation: Situation) -> Reason:
    """Returns why it is not known what the present fleet costs."""
    faults = {f: fault for f, fault in situation.price_faults.items() if situation.current.count(f)}
    return PricesUnknown(faults) if faults else SpeedUnknown()


def _with_evidence(outlook: Outlook, verdict: Verdict, reason: Reason, choice: Choice) -> Decision:
    """Returns the decision with the fleets that were compared."""
    situation, then = outlook.situation, choice.forecast
    compared = dict.fromkeys((situation.current, then.target, *runners_up(outlook)))
    estimates = tuple(outlook.estimate(fleet) for fleet in compared)
    saving = outlook.stay.remaining_usd - then.remaining_usd if outlook.knows_current else None
    switching = then.switching_usd if then.target != situation.current else None
    decision = situation.decision(verdict, reason, then.target, estimates, saving, switching)
    return replace(decision, scaling=scaling(outlook, then.target))
