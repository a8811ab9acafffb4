"""Deciding: from what was measured, and what is known of prices and limits, to the fleet to have, with the reason.

Everything here is pure: no clock, no network, no file. The live controller, the simulator and the tests call `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.decide.explain import render_explanation
from controller.decide.policies import POLICIES, UnknownPolicyError, find_policy
from controller.decide.settings import Batches, DecideSettings, Objective, SwitchingAssumptions, Truth
from controller.decide.situation import assess
from controller.domain import Decision, History, Limits, Observation, Price, Progress

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
    return policy.decide(assess(observations, prices, limits, progress, history, settings))
