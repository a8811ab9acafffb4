"""What a deadline asks for in a run that could buy on demand and on spot, and what it forbids."""

from __future__ import annotations

from dataclasses import replace

from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Spot
from controller.decide.markets.advice import Advice, advice
from controller.decide.markets.buyable import is_spot
from controller.decide.model.situation import Situation
from controller.decide.policies.decided import decided
from controller.decide.policies.stability import busy_reason
from controller.domain import Decision, Fleet, Verdict
from controller.domain.reasons.spot import NoSpotForDeadline, OnDemandForDeadline, SpotForDeadline, WaitsForSpot


def in_time(decision: Decision, situation: Situation) -> Decision:
    """Returns the decision, or the one that the deadline asks for instead.

    Args:
        decision: What the policy of fleets decides.
        situation: The situation that it decides in.
    """
    advised = advice(situation)
    if advised is None:
        return decision
    asked = asked_for(advised, situation)
    if asked is not None:
        return asked
    if decision.verdict is Verdict.MOVE and _is_too_late(decision, advised, situation):
        reason = NoSpotForDeadline(decision.target, advised.needed_s, advised.left_s, not advised.may_try)
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason, is_probe=False)
    return decision


def asked_for(advised: Advice, situation: Situation) -> Decision | None:
    """Returns what the deadline asks for now; None where the nodes that run may go on."""
    if advised.running == advised.choice != WAIT or situation.history.move_under_way is not None:
        return None
    bought, needed_s, left_s = advised.buyable, advised.needed_s, advised.left_s
    if isinstance(advised.choice, Spot):
        pool = bought.pools[advised.choice.pool]
        is_wanted = pool.is_in_time and pool.flavor in situation.measured
        if advised.running == ON_DEMAND and (not is_wanted or busy_reason(situation)):
            return None  # what is worth measuring or mixing, and when, is for the policy of fleets to say
        return decided(situation, Verdict.MOVE, SpotForDeadline(pool.fleet, needed_s, left_s), pool.fleet)
    if advised.choice == WAIT:
        if advised.running == ON_DEMAND:
            return None
        until = situation.now + left_s - needed_s
        return decided(situation, Verdict.STAY, WaitsForSpot(until, needed_s, left_s))
    reason = OnDemandForDeadline(bought.on_demand, needed_s, left_s, advised.is_open)
    return decided(situation, Verdict.MOVE, reason, bought.on_demand)


def _is_too_late(decision: Decision, advised: Advice, situation: Situation) -> bool:
    """Returns whether a move could cost the deadline, or gives up nodes on demand that should stay."""
    if advised.running != ON_DEMAND:
        return not advised.may_try
    gives_up = decision.current.beyond(decision.target).size > 0 and _is_on_spot(decision.target, situation)
    knows_losses = bool(situation.history.noticed)
    return gives_up and advised.choice == ON_DEMAND and (knows_losses or not advised.may_try)


def _is_on_spot(fleet: Fleet, situation: Situation) -> bool:
    return any(is_spot(situation, flavor) for flavor in fleet.present)
