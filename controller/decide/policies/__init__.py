"""The policies by name."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.policies.base import Policy
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.list_price import HOURLY_PRICE, VCPU_PRICE
from controller.decide.policies.price_time import PriceTime

POLICIES: Mapping[str, Policy] = {
    policy.name: policy for policy in (CheapestFleet(), PriceTime(), HOURLY_PRICE, VCPU_PRICE)
}


class UnknownPolicyError(ValueError):
    """Says that no policy has this name, and lists those that exist."""


def find_policy(name: str, policies: Mapping[str, Policy] = POLICIES) -> Policy:
    """Returns the policy of this name. Raises UnknownPolicyError."""
    if name not in policies:
        raise UnknownPolicyError(f"there is no policy '{name}'; there are: {', '.join(policies)}")
    return policies[name]
