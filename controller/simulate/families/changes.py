"""Families in which something changes while the training runs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

from controller.domain import SECONDS_PER_HOUR
from controller.simulate.scenario import PriceChange, Scenario, SimulatedFlavor, Told
from controller.simulate.troubles import BatchPhase, Outage, Troubles

HORIZON_S = 240 * SECONDS_PER_HOUR
"""Until when prices change and spot pools are taken back."""
LONGEST_INTERVAL_S = 3600.0
"""How often the controller looks at least where something changes that it is not told."""


def drifting_speeds(rng: random.Random, plain: Scenario) -> Scenario:
    """Lets the speed of each flavor drift by 10 to 25 percent, over 2 to 8 hours."""
    troubles = Troubles(drift_sigma=rng.uniform(0.10, 0.25), drift_correlation_s=rng.uniform(2.0, 8.0) * 3600)
    return replace(plain, troubles=troubles, longest_interval_s=LONGEST_INTERVAL_S)


def noisy_neighbours(rng: random.Random, plain: Scenario) -> Scenario:
    """Slows nodes down for 10 to 60 minutes, every 3 to 30 hours."""
    troubles = Troubles(
        neighbours_per_hour=math.exp(rng.uniform(math.log(1 / 30), math.log(1 / 3))),
        neighbour_s=rng.uniform(600.0, 3600.0),
    )
    return replace(plain, troubles=troubles, longest_interval_s=LONGEST_INTERVAL_S)


def spot_pools(rng: random.Random, plain: Scenario) -> Scenario:
    """Makes every second flavor spot. Each pool is taken back every 8 to 72 hours, for 10 to 60 minutes."""
    flavors = tuple(_on_spot(rng, f) for f in plain.flavors)
    outages = [outage for f in flavors if f.spot for outage in _outages(rng, f.name)]
    troubles = Troubles(outages=tuple(sorted(outages, key=lambda outage: outage.at_s)))
    return replace(plain, flavors=flavors, troubles=troubles, told=Told(interruptions=False))


def _on_spot(rng: random.Random, flavor: SimulatedFlavor) -> SimulatedFlavor:
    """Returns every second flavor that is not burstable on spot, with interruptions of single nodes too."""
    if flavor.spot or flavor.baseline_share < 1 or rng.random() < 0.5:
        return flavor
    usd_per_hour = round(flavor.usd_per_hour * rng.uniform(0.3, 0.5), 4)
    return replace(flavor, spot=True, usd_per_hour=usd_per_hour, interruptions_per_hour=rng.uniform(0.01, 0.06))


def _outages(rng: random.Random, flavor: str) -> Iterator[Outage]:
    """Yields when a pool is taken back: exponential gaps, so that the past says nothing of the next time."""
    gap_s, at_s = rng.uniform(8.0, 72.0) * SECONDS_PER_HOUR, 0.0
    while at_s < HORIZON_S:
        at_s += rng.expovariate(1 / gap_s)
        yield Outage(at_s, flavor, rng.uniform(0.5, 1.0), rng.uniform(600.0, 3600.0))


def price_steps(rng: random.Random, plain: Scenario) -> Scenario:
    """Makes every second flavor spot. Its price rises to 2.5 times, or falls to half, every 6 to 48 hours."""
    flavors = tuple(_on_spot(rng, f) for f in plain.flavors)
    changes = [change for f in flavors if f.spot for change in _steps(rng, f)]
    return replace(plain, flavors=flavors, price_changes=tuple(sorted(changes, key=lambda change: change.at_s)))


def _steps(rng: random.Random, flavor: SimulatedFlavor) -> Iterator[PriceChange]:
    gap_s, at_s = rng.uniform(6.0, 48.0) * SECONDS_PER_HOUR, 0.0
    while at_s < HORIZON_S:
        at_s += rng.expovariate(1 / gap_s)
        factor = math.exp(rng.uniform(math.log(0.5), math.log(2.5)))
        yield PriceChange(at_s, flavor.name, round(flavor.usd_per_hour * factor, 4))


def changing_batch(rng: random.Random, plain: Scenario) -> Scenario:
    """Changes the tokens of a step one to three times, by up to 2.5 times."""
    steps = sorted(rng.randrange(1, max(2, plain.total_steps)) for _ in range(rng.randint(1, 3)))
    phases = tuple(BatchPhase(step, math.exp(rng.uniform(-math.log(2.5), math.log(2.5)))) for step in steps)
    return replace(plain, troubles=Troubles(phases=phases))


def late_facts(rng: random.Random, plain: Scenario) -> Scenario:
    """Lets facts come 1 to 10 minutes late, and three of ten not at all."""
    return replace(plain, troubles=Troubles(facts_delay_s=rng.uniform(60.0, 600.0), missing_facts_share=0.3))
