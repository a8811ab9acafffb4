"""The safety net: the deadline is kept whenever on-demand alone would keep it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide.deadlines.expected_cost import expected_cost
from controller.decide.deadlines.paper import greedy, on_demand_only, uniform_progress
from controller.decide.deadlines.safety import change_over_s, is_safe, kept_safe
from controller.decide.deadlines.seen import Seen
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Policy, Situation, Spot
from controller.simulate.traces.play import play

STEP_S = 200.0


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Job, npt.NDArray[np.bool_]]:
    """Draws a job that on-demand alone does in time, and pools whose capacity comes and goes."""
    change_over_s = draw(st.sampled_from([0.0, 72.0, 200.0, 720.0, 1440.0]))
    work_s = draw(st.floats(100.0, 9000.0))
    time_s = work_s + change_over_s + draw(st.floats(0.0, 9000.0))
    pools = draw(st.integers(1, 3))
    steps = int(time_s / STEP_S) + 1
    seed, flips = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.02, 0.2, 0.5]))
    changes = np.random.default_rng(seed).random((steps, pools)) < flips
    available = np.logical_xor.accumulate(changes, axis=0)
    return Job(work_s, time_s, change_over_s, STEP_S, 3.0, (1.0,) * pools), available


def any_choice(seed: int) -> Policy:
    """Returns a policy that chooses at random, within the safety net."""
    random = np.random.default_rng(seed)

    def policy(situation: Situation) -> Choice:
        choices: list[Choice] = [ON_DEMAND, WAIT, *(Spot(pool) for pool, has in enumerate(situation.available) if has)]
        return kept_safe(choices[random.integers(len(choices))], situation)

    return policy


@given(worlds(), st.integers(0, 2**32 - 1))
@settings(max_examples=300, deadline=None)
def test_whatever_a_policy_chooses_the_net_keeps_the_deadline(
    world: tuple[Job, npt.NDArray[np.bool_]], seed: int
) -> None:
    job, available = world
    assert job.is_possible
    assert play(any_choice(seed), job, available).is_in_time


@pytest.mark.parametrize("policy", [on_demand_only, greedy, uniform_progress, expected_cost])
@given(world=worlds())
@settings(max_examples=60, deadline=None)
def test_every_policy_keeps_a_deadline_that_on_demand_keeps(
    policy: Policy, world: tuple[Job, npt.NDArray[np.bool_]]
) -> None:
    assert play(policy, *world).is_in_time


def situation(slack_s: float, running: Choice = WAIT, work_s: float = 4000.0, left_s: float = 0.0) -> Situation:
    job = Job(36000.0, 72000.0, 720.0, STEP_S, 3.0, (1.0,))
    return Situation(job, work_s, work_s + slack_s, running, left_s, (True,), Seen())


def test_spot_that_leaves_half_a_second_of_work_does_not_end_the_job() -> None:
    assert is_safe(Spot(0), situation(100.0, Spot(0), work_s=STEP_S))
    assert not is_safe(Spot(0), situation(100.0, Spot(0), work_s=STEP_S + 0.5))


@pytest.mark.parametrize(
    ("choice", "running", "least_slack_s"),
    [
        (WAIT, WAIT, 720 + 200),
        (ON_DEMAND, WAIT, 720),
        (ON_DEMAND, ON_DEMAND, 0),
        (Spot(0), Spot(0), 720),
        (Spot(0), WAIT, 720 + 200),
        (Spot(0), ON_DEMAND, 720 + 200),
    ],
)
def test_the_net_closes_no_earlier_than_it_must(choice: Choice, running: Choice, least_slack_s: float) -> None:
    assert is_safe(choice, situation(least_slack_s, running))
    assert not is_safe(choice, situation(least_slack_s - 1, running))


@pytest.mark.parametrize("work_s", [150.0, STEP_S])
def test_spot_that_ends_the_job_in_this_step_is_safe_without_any_slack(work_s: float) -> None:
    assert is_safe(Spot(0), situation(0.0, Spot(0), work_s=work_s))


def test_waiting_takes_no_change_over_and_is_all_that_is_left_without_work() -> None:
    assert change_over_s(WAIT, situation(0.0, left_s=500.0)) == 0.0
    assert kept_safe(WAIT, situation(0.0, work_s=0.0)) == WAIT
    assert kept_safe(WAIT, situation(0.0, work_s=0.5)) == ON_DEMAND


def test_a_change_over_that_runs_counts_what_is_left_of_it() -> None:
    assert is_safe(ON_DEMAND, situation(500.0, ON_DEMAND, left_s=500.0))
    assert not is_safe(ON_DEMAND, situation(499.0, ON_DEMAND, left_s=500.0))


def test_unsafe_waiting_becomes_on_demand_unless_spot_runs() -> None:
    assert kept_safe(WAIT, situation(800.0)) == ON_DEMAND
    assert kept_safe(WAIT, situation(800.0, Spot(0))) == Spot(0)


def test_the_net_has_a_hole_if_it_closes_a_step_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: with a net that ignores the step of waiting, greedy is late."""
    late: Callable[[Choice, Situation], bool] = lambda choice, now: now.slack_s >= 0  # noqa: E731
    monkeypatch.setattr("controller.decide.deadlines.safety.is_safe", late)
    job = Job(4000.0, 6000.0, 720.0, STEP_S, 3.0, (1.0,))
    assert not play(greedy, job, np.zeros((31, 1), dtype=bool)).is_in_time
