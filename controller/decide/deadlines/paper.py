"""The policies of Wu et al., "Can't Be Late", NSDI 2024, with which ours is compared.

Where there are several pools, each takes the cheapest one that has capacity, and stays there until it is taken back.
"""

from __future__ import annotations

from controller.decide.deadlines.safety import kept_safe
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Situation, Spot, cheapest_available


def on_demand_only(situation: Situation) -> Choice:
    """Runs on demand from the beginning to the end."""
    del situation
    return ON_DEMAND


def greedy(situation: Situation) -> Choice:
    """Runs on spot where there is any and waits where there is none, until only on-demand keeps the deadline."""
    if situation.running == ON_DEMAND:
        return ON_DEMAND
    return kept_safe(cheapest_available(situation) or WAIT, situation)


def uniform_progress(situation: Situation) -> Choice:
    """Keeps up with a progress that grows evenly to the deadline.

    Idle and behind, it runs on demand until it has caught up, with a lead of two change-overs. It takes spot whenever
    there is some. When the time left is less than the work left and two change-overs, it runs on demand to the end.
    """
    job = situation.job
    passed_s, done_s = job.time_s - situation.time_left_s, job.work_s - situation.work_left_s
    is_on_demand = situation.running == ON_DEMAND
    spot = cheapest_available(situation)
    is_late = situation.slack_s < 2 * job.change_over_s
    if is_late and not isinstance(situation.running, Spot):
        return ON_DEMAND
    if is_on_demand and done_s < _expected_s(situation, passed_s + 2 * job.change_over_s):
        return ON_DEMAND
    is_behind = done_s < _expected_s(situation, passed_s)
    return kept_safe(spot or (ON_DEMAND if is_behind else WAIT), situation)


def _expected_s(situation: Situation, passed_s: float) -> float:
    return passed_s * situation.job.work_s / situation.job.time_s
