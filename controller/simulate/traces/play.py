"""Playing traces against a policy."""

from __future__ import annotations

from dataclasses import dataclass

from controller.decide.deadlines.safety import ROUNDING_S, change_over_s
from controller.decide.deadlines.seen import Seen
from controller.decide.deadlines.situation import WAIT, Choice, Job, OnDemand, Policy, Situation, Spot, Wait
from controller.simulate.traces.trace import Flags


@dataclass(frozen=True)
class Played:
    """What a policy made of a job.

    Attributes:
        usd: What it cost.
        is_in_time: Whether the work was done at the deadline.
        change_overs: How many starts there were.
        on_demand_s: How long it ran on demand.
        spot_s: How long it ran on spot.
        waited_s: How long it waited.
    """

    usd: float
    is_in_time: bool
    change_overs: int
    on_demand_s: float
    spot_s: float
    waited_s: float


def play(policy: Policy, job: Job, available: Flags) -> Played:
    """Plays a job to its end, or to its deadline.

    A step is paid for as a whole. What a pool has at the beginning of a step, it has to the end of it.

    Args:
        policy: Who decides.
        job: The job.
        available: What the pools have, (steps, pools): from the job's beginning at least to its deadline.

    Raises:
        ValueError: The policy chooses a pool without capacity, or the pools end before the deadline.
    """
    if len(available) * job.step_s < job.time_s - ROUNDING_S:
        raise ValueError("the traces end before the job's deadline")
    running: Choice = WAIT
    seen, left_s, work_s = Seen(), 0.0, job.work_s
    usd, change_overs, spent_s = 0.0, 0, {OnDemand: 0.0, Spot: 0.0, Wait: 0.0}
    at = 0
    while work_s > ROUNDING_S and job.time_s - at * job.step_s > ROUNDING_S:
        now = tuple(bool(flag) for flag in available[at])
        seen = seen.after(now, job.step_s)
        if isinstance(running, Spot) and not now[running.pool]:
            running, left_s = WAIT, 0.0
        situation = Situation(job, work_s, job.time_s - at * job.step_s, running, left_s, now, seen)
        choice = policy(situation)
        if isinstance(choice, Spot) and not now[choice.pool]:
            raise ValueError(f"pool {choice.pool} has no capacity at step {at}")
        idle_s = change_over_s(choice, situation)
        change_overs += choice not in (running, WAIT)
        if choice != WAIT:
            work_s -= max(0.0, min(job.step_s, situation.time_left_s) - idle_s)
        running, left_s = choice, max(0.0, idle_s - job.step_s)
        usd += usd_of(choice, job)
        spent_s[type(choice)] += job.step_s
        at += 1
    return Played(usd, work_s <= ROUNDING_S, change_overs, spent_s[OnDemand], spent_s[Spot], spent_s[Wait])


def usd_of(choice: Choice, job: Job) -> float:
    """Returns what a step with this choice costs."""
    if isinstance(choice, Wait):
        return job.idle_usd_per_hour * job.step_s / 3600
    price = job.spot_usd_per_hour[choice.pool] if isinstance(choice, Spot) else job.on_demand_usd_per_hour
    return price * job.step_s / 3600
