"""The policies that a simulation compares: those of the live controller, and three that only simulations use."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.policies import POLICIES
from controller.decide.policies.base import Policy
from controller.simulate.policies.bayesian import Bayesian
from controller.simulate.policies.oracle import Oracle, WaitingOracle

_ONLY_SIMULATED: tuple[Policy, ...] = (Bayesian(), Oracle(), WaitingOracle())
SIMULATED_POLICIES: Mapping[str, Policy] = {**POLICIES, **{policy.name: policy for policy in _ONLY_SIMULATED}}
