"""Families of random scenarios: in each of them policies believe something wrong, or lack something."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from controller.simulate.families.beliefs import hidden_credits, slow_configuring, speeds_unlike_vcpus, untold_baselines
from controller.simulate.families.changes import (
    changing_batch,
    drifting_speeds,
    late_facts,
    noisy_neighbours,
    price_steps,
    spot_pools,
)
from controller.simulate.families.family import Family
from controller.simulate.families.lengths import short
from controller.simulate.random_scenarios import random_scenario
from controller.simulate.scenario import Scenario

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("known", "everything is told"),
        Family("slow-configuring", "configuring takes 3 to 8 times as long as assumed", slow_configuring),
        Family("untold-baselines", "the baselines of burstable flavors are not told", untold_baselines),
        Family("hidden-credits", "every second flavor is burstable, and nobody says so", hidden_credits),
        Family("speeds-unlike-vcpus", "speeds have little to do with vCPUs", speeds_unlike_vcpus),
        Family("drifting-speeds", "the speeds of flavors drift", drifting_speeds),
        Family("noisy-neighbours", "nodes lose speed for a while", noisy_neighbours),
        Family("spot-pools", "EC2 takes whole spot pools back, and nobody says how often", spot_pools),
        Family("price-steps", "spot prices rise to 2.5 times or fall to half", price_steps),
        Family("sixty-flavors", "sixty flavors to choose from", flavors=(60, 60)),
        Family("changing-batch", "the tokens of a step change", changing_batch),
        Family("late-facts", "facts come 1 to 10 minutes late, and three of ten not at all", late_facts),
        Family("short", "the training takes 9 minutes to 2.4 hours", short),
    )
}


def family_scenario(name: str, seed: int, prices: Mapping[str, float] | None = None) -> Scenario:
    """Returns the scenario of a family and a seed: the same for the same seed and price list.

    Raises KeyError for a family that does not exist.
    """
    family = FAMILIES[name]
    plain = random_scenario(seed, prices, family.flavors)
    changed = family.change(random.Random(f"{name} {seed}"), plain)
    return replace(changed, name=f"{name}-{seed}")
