"""The omniscient bound is exact, and no policy is cheaper."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide.deadlines.expected_cost import expected_cost
from controller.decide.deadlines.paper import greedy, on_demand_only, uniform_progress
from controller.decide.deadlines.safety import ROUNDING_S
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Situation, Spot
from controller.simulate.traces.omniscient import omniscient_usd
from controller.simulate.traces.play import play


def brute_force_usd(job: Job, available: np.ndarray) -> float:
    """Returns the least cost over all sequences of choices, each played by the player itself."""
    choices: list[Choice] = [WAIT, ON_DEMAND, *(Spot(pool) for pool in range(available.shape[1]))]
    least = math.inf
    for plan in itertools.product(choices, repeat=len(available)):
        if any(isinstance(choice, Spot) and not available[at, choice.pool] for at, choice in enumerate(plan)):
            continue

        def planned(now: Situation, plan: tuple[Choice, ...] = plan) -> Choice:
            return plan[round((now.job.time_s - now.time_left_s) / now.job.step_s)]

        played = play(planned, job, available)
        if played.is_in_time:
            least = min(least, played.usd)
    return least


@pytest.mark.parametrize("change_over_s", [0.0, 40.0, 100.0, 150.0])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_trying_everything_finds(change_over_s: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    for pools, steps in ((1, 7), (2, 6)):
        available = random.random((steps, pools)) < 0.6
        job = Job(float(random.integers(150, 400)), steps * 100.0, change_over_s, 100.0, 3.0, (1.0, 1.2)[:pools])
        assert omniscient_usd(job, available) == pytest.approx(brute_force_usd(job, available))


def test_a_job_that_nothing_does_in_time_costs_infinitely_much() -> None:
    job = Job(1000.0, 1000.0, 100.0, 100.0, 3.0, (1.0,))
    assert omniscient_usd(job, np.ones((10, 1), dtype=bool)) == math.inf


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([40.0, 360.0]))
@settings(max_examples=40, deadline=None)
def test_no_policy_is_cheaper(seed: int, pools: int, change_over_s: float) -> None:
    random = np.random.default_rng(seed)
    available = np.logical_xor.accumulate(random.random((100, pools)) < 0.1, axis=0)
    job = Job(float(random.integers(2000, 8000)), 10000.0, change_over_s, 100.0, 3.0, (1.0,) * pools)
    least = omniscient_usd(job, available)
    for policy in (on_demand_only, greedy, uniform_progress, expected_cost):
        assert play(policy, job, available).usd >= least - ROUNDING_S
