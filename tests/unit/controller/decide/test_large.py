"""A whole decision on fifty flavors and a thousand nodes, exploration and tables included, within a second."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace

import pytest

from controller.decide import DecideSettings, Objective
from controller.domain import Flavor, Fleet, Limits


def large_training(training, rng: random.Random, measured: int):
    """Fifty flavors, of which `measured` run, a thousand nodes in all."""
    prices = {f"{'abcdefghij'[number % 10]}5.x{number}": rng.uniform(0.05, 3.0) for number in range(50)}
    spread = rng.choice([0.0, 0.05, 0.5])
    training.prices = prices
    training.speeds = {name: 30_000 * usd * math.exp(rng.gauss(0, spread)) for name, usd in prices.items()}
    training.fleet = Fleet(dict.fromkeys(rng.sample(sorted(prices), measured), 1000 // measured))
    training.tokens_per_step = 4e6
    training.communication_s = lambda size: 0.05 + 0.02 * math.log2(size)
    return training


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("promise", ["none", "deadline", "budget", "both"])
@pytest.mark.parametrize("measured", [1, 10, 50])
def test_fifty_flavors_and_a_thousand_nodes_take_less_than_a_second(training, objective, promise, measured):
    rng = random.Random(f"{objective} {promise} {measured}")
    training = large_training(training, rng, measured)
    settings = DecideSettings(
        objective=objective,
        flavors={name: Flavor(name, vcpus=max(2, int(20 * p))) for name, p in training.prices.items()},
    )
    limits = Limits(1, 1000, max_nodes_per_flavor={name: rng.choice([20, 40, 1000]) for name in training.prices})
    stay = training.decide(limits, settings).fleets[0]
    share = rng.uniform(0.7, 1.5)
    if promise in ("deadline", "both"):
        limits = replace(limits, deadline_at=training.now + share * stay.remaining_s)
    if promise in ("budget", "both"):
        limits = replace(limits, budget_usd=share * stay.remaining_usd)
    observation = training.observe()
    began = time.process_time()
    decision = training.decide(limits, settings, observation)
    assert time.process_time() - began < 1.0
    assert decision.target.size
