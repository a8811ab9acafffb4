"""Deciding which fleet to have, from measurements, prices and limits.

Everything here is pure: no clock, no network, no file. The live controller, the simulator and the tests call `decide`.

Rooms: `limits` (which fleets are allowed), `model` (what is believed of speeds, prices and fleets), `search` (the best
fleet), `exploration` (what is worth measuring), `policies` (ways of deciding).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.decide.given import DecisionInput
from controller.decide.limits.surge import exchange, first_move
from controller.decide.model.estimates import node_usd_per_million_tokens
from controller.decide.model.situation import Situation, assess
from controller.decide.policies import POLICIES, UnknownPolicyError, find_policy
from controller.decide.policies.base import Policy
from controller.decide.settings import DecideSettings, SwitchingAssumptions, Truth
from controller.domain import Decision, Verdict
from controller.domain.batches import Batches
from controller.domain.objective import Objective
from controller.domain.reasons.limits import FirstOfSeveralMoves, SurgeForbidsMove

__all__ = [
    "POLICIES",
    "Batches",
    "DecideSettings",
    "DecisionInput",
    "Objective",
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
    return _within_surge(policy.decide(situation), situation)


def _within_surge(decision: Decision, situation: Situation) -> Decision:
    """Returns the decision with at most `max_surge` nodes exchanged at once. Later moves exchange the rest."""
    most, change = situation.limits.max_surge, exchange(decision.current, decision.target)
    if most is None or change.keeps(most):
        return decision
    cost = {flavor: node_usd_per_million_tokens(situation, flavor) for flavor in situation.flavors}
    target = first_move(change, most, situation.bounds, lambda flavor: cost[flavor] or 0.0)
    if target is None:
        reason = SurgeForbidsMove(most, decision.reason)
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason)
    return replace(decision, target=target, reason=FirstOfSeveralMoves(target, most, decision.reason))
