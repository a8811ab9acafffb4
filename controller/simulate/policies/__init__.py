"""The policies that a simulation compares: those of the live controller, and two that only simulations use."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.policies import POLICIES
from controller.decide.policies.base import Policy
from controller.simulate.policies.bayesian import Bayesian
from controller.simulate.policies.oracle import Oracle

SIMULATED_POLICIES: Mapping[str, Policy] = {**POLICIES, **{policy.name: policy for policy in (Bayesian(), Oracle())}}
