"""The policies by name."""

from __future__ import annotations

from controller.decide.policies.base import Policy
from controller.decide.policies.bayesian import Bayesian
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.list_price import HOURLY_PRICE, VCPU_PRICE
from controller.decide.policies.oracle import Oracle
from controller.decide.policies.price_time import PriceTime

_ALL: tuple[Policy, ...] = (CheapestFleet(), PriceTime(), HOURLY_PRICE, VCPU_PRICE, Bayesian(), Oracle())
POLICIES: dict[str, Policy] = {policy.name: policy for policy in _ALL}


class UnknownPolicyError(ValueError):
    """A policy of this name does not exist; the message lists those that do."""


def find_policy(name: str) -> Policy:
    """The policy of this name. Raises UnknownPolicyError."""
    if name not in POLICIES:
        raise UnknownPolicyError(f"there is no policy '{name}'; there are: {', '.join(POLICIES)}")
    return POLICIES[name]
