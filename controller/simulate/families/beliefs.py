"""Families in which something is believed that is not so, or is not told at all."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from controller.decide import SpeedSpread, SwitchingAssumptions
from controller.simulate.families.family import as_long_as
from controller.simulate.scenario import Scenario, SimulatedFlavor, Told

SPEED_SIGMA = 0.8
UNLIKE = SpeedSpread(own=math.hypot(SpeedSpread().own, SPEED_SIGMA), flavors=1e6)
"""How far speeds spread there, known for sure."""


def slow_configuring(rng: random.Random, plain: Scenario) -> Scenario:
    """Lets nodes need 3 to 8 times as long to be configured as policies assume."""
    assumed = SwitchingAssumptions(plain.boot_s, plain.configure_s, plain.pause_s, plain.drain_s)
    return replace(plain, configure_s=plain.configure_s * rng.uniform(3.0, 8.0), told=Told(switching=assumed))


def untold_baselines(rng: random.Random, plain: Scenario) -> Scenario:
    """Does not tell the baselines of burstable flavors."""
    return replace(plain, told=Told(baselines=False))


def hidden_credits(rng: random.Random, plain: Scenario) -> Scenario:
    """Gives every second flavor CPU credits of 15 minutes to 2 hours, and tells nobody."""
    flavors = tuple(_with_credits(rng, f) if rng.random() < 0.5 else f for f in plain.flavors)
    return as_long_as(plain, replace(plain, flavors=flavors, told=Told(burstable=False)))


def _with_credits(rng: random.Random, flavor: SimulatedFlavor) -> SimulatedFlavor:
    return replace(flavor, baseline_share=rng.uniform(0.1, 0.4), credits_s=rng.uniform(900.0, 7200.0))


def speeds_unlike_vcpus(rng: random.Random, plain: Scenario) -> Scenario:
    """Gives each flavor a speed that has little to do with its vCPUs."""
    flavors = tuple(
        replace(f, tokens_per_s=f.tokens_per_s * math.exp(rng.gauss(0.0, SPEED_SIGMA))) for f in plain.flavors
    )
    return as_long_as(plain, replace(plain, flavors=flavors, spread=UNLIKE))
