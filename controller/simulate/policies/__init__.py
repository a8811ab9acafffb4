"""The policies that a simulation compares: those of the live controller, and four that only simulations use."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.policies import POLICIES
from controller.decide.policies.base import Policy
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.simulate.policies.bayesian import Bayesian
from controller.simulate.policies.oracle import Oracle, WaitingOracle
from controller.simulate.told import TOLD_SPREAD

_ONLY_SIMULATED: tuple[Policy, ...] = (Bayesian(), Oracle(), WaitingOracle(), CheapestFleet(TOLD_SPREAD))
SIMULATED_POLICIES: Mapping[str, Policy] = {**POLICIES, **{policy.name: policy for policy in _ONLY_SIMULATED}}
