"""The policies by name."""

from __future__ import annotations

from controller.decide.policies.base import Policy
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.price_time import PriceTime

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (CheapestFleet(), PriceTime())}


class UnknownPolicyError(ValueError):
    """A policy of this name does not exist; the message lists those that do."""


def find_policy(name: str) -> Policy:
    """The policy of this name. Raises UnknownPolicyError."""
    if name not in POLICIES:
        raise UnknownPolicyError(f"there is no policy '{name}'; there are: {', '.join(POLICIES)}")
    return POLICIES[name]
