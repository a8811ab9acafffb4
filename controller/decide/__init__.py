"""Deciding: from what was measured, and what is known of prices and limits, to the fleet to have, with the reason.

Everything here is pure: no clock, no network, no file. The live controller, the simulator and the tests call `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.decide.explain import render_explanation
from controller.decide.policies import POLICIES, UnknownPolicyError, find_policy
from controller.decide.settings import Batches, DecideSettings, Objective, SwitchingAssumptions, Truth
from controller.decide.situation import Situation, assess
from controller.decide.surge import exchange, first_move
from controller.domain import Decision, History, Limits, Observation, Price, Progress, Verdict

__all__ = [
    "POLICIES",
    "Batches",
    "DecideSettings",
    "Objective",
    "SwitchingAssumptions",
    "Truth",
    "UnknownPolicyError",
    "decide",
    "render_explanation",
]


def decide(
    observations: Sequence[Observation],
    prices: Mapping[str, Price],
    limits: Limits,
    progress: Progress | None,
    history: History,
    settings: DecideSettings,
) -> Decision:
    """What to do now, and why.

    `observations` are oldest first and the last is the present (at least one); those in `history` count as well, and
    may be the same. `progress` is None while unknown. Raises UnknownPolicyError, and ValueError without an observation.
    """
    policy = find_policy(settings.policy)
    situation = assess(observations, prices, limits, progress, history, settings)
    return _within_surge(policy.decide(situation), situation)


def _within_surge(decision: Decision, situation: Situation) -> Decision:
    """The decision with no more nodes exchanged at once than `max_surge` allows: the rest is left to later moves."""
    most, change = situation.limits.max_surge, exchange(decision.current, decision.target)
    if most is None or change.keeps(most):
        return decision
    cost = {flavor: situation.usd_per_million_tokens(flavor) for flavor in situation.flavors}
    target = first_move(change, most, situation.bounds, lambda flavor: cost[flavor] or 0.0)
    if target is None:
        reason = f"max_surge is {most} and no node may be added or ended first: {decision.reason}"
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason)
    reason = f"to {target} first, as max_surge is {most}: {decision.reason}"
    return replace(decision, target=target, reason=reason)
