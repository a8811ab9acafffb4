"""Deciding which fleet to have, from measurements, prices and limits.

Everything here is pure: no clock, no network, no file. The live controller, the simulator and the tests call `decide`.

Rooms: `limits` (which fleets are allowed), `samples` (what facts say of speed), `model` (what is believed of speeds,
prices and fleets), `search` (the best fleet), `exploration` (what is worth measuring), `policies` (ways of deciding),
`health` (whether the training makes progress, and what to do where it does not), `replacing` (what takes the places of
nodes that EC2 takes back), `deadlines` (on demand, spot or waiting: policies for a job with a deadline), `markets` (the
same for a run that trains).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.decide.given import DecisionInput
from controller.decide.limits.surge import Exchange, Surge, exchange, first_move
from controller.decide.markets.asked import in_time
from controller.decide.model.estimates import node_usd_per_million_tokens
from controller.decide.model.situation import Situation, assess
from controller.decide.policies import POLICIES, UnknownPolicyError, find_policy
from controller.decide.policies.base import Policy
from controller.decide.settings import DecideSettings, SpeedSpread, SwitchingAssumptions, Truth
from controller.domain import Decision, Fleet, Verdict
from controller.domain.batches import Batches
from controller.domain.objective import Objective
from controller.domain.reasons import Reason
from controller.domain.reasons.limits import (
    FirstOfSeveralMoves,
    FirstWithinHourlyLimit,
    HourlyLimitForbidsMove,
    SurgeForbidsMove,
)

__all__ = [
    "POLICIES",
    "Batches",
    "DecideSettings",
    "DecisionInput",
    "Objective",
    "SpeedSpread",
    "SwitchingAssumptions",
    "Truth",
    "UnknownPolicyError",
    "decide",
]


def decide(given: DecisionInput, policies: Mapping[str, Policy] = POLICIES) -> Decision:
    """Decides which fleet to have now, and why.

    Args:
        given: What is known; its settings name the policy.
        policies: The policies to choose from, by name.

    Raises:
        UnknownPolicyError: No policy has the name that the settings give.
        ValueError: There is no observation.
    """
    policy = find_policy(given.settings.policy, policies)
    situation = assess(given)
    decision = policy.decide(situation)
    return _in_allowed_steps(in_time(decision, situation) if _may_lose_pools(given) else decision, situation)


def _may_lose_pools(given: DecisionInput) -> bool:
    """Returns whether spot pools may vanish as a whole: one did, or nobody says how often they lose single nodes."""
    rates = [price.interruptions_per_hour for price in given.prices.values()]
    return bool(given.history.noticed) or not any(rates)


def _in_allowed_steps(decision: Decision, situation: Situation) -> Decision:
    """Returns the decision, with only as much exchanged at once as may run. Later moves exchange the rest."""
    surge, change = situation.surge, exchange(decision.current, decision.target)
    if surge.allows(change):
        return decision
    cost = {flavor: node_usd_per_million_tokens(situation, flavor) for flavor in situation.flavors}
    target = first_move(change, surge, situation.bounds, lambda flavor: cost.get(flavor) or 0.0)
    if target is None:
        reason = _forbids(surge, change, decision.reason)
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason)
    return replace(decision, target=target, reason=_first_of_several(surge, change, target, decision.reason))


def _forbids(surge: Surge, change: Exchange, whole: Reason) -> Reason:
    """Returns that no part of the move is allowed."""
    if surge.max_usd_per_hour is None or surge.has_money(change):
        return SurgeForbidsMove(surge.max_nodes or 0, whole)
    return HourlyLimitForbidsMove(surge.max_usd_per_hour, surge.during_usd_per_hour(change), whole)


def _first_of_several(surge: Surge, change: Exchange, target: Fleet, whole: Reason) -> Reason:
    """Returns that the move goes a part of the way. The narrower limit is named."""
    if surge.max_usd_per_hour is None or surge.has_money(change):
        return FirstOfSeveralMoves(target, surge.max_nodes or 0, whole)
    return FirstWithinHourlyLimit(target, surge.max_usd_per_hour, surge.during_usd_per_hour(change), whole)
