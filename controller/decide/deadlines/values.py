"""What it is worth to wait, to run on spot or on demand, for each hypothesis of how spot capacity comes and goes.

A dynamic program over the work that is left and the slack (the time left without the work left). In a step of running, work is
done and slack stays; in a step of waiting, slack goes by. A start costs a change-over of money and of slack. Spot capacity is a
Markov chain with two states, and its two rates are a hypothesis (`hypotheses.py`).

Arrays are (2 states of capacity, slack, hypotheses of stays, hypotheses of absences). Slack begins at 0 on demand, and at one
change-over where on-demand does not run: with less, the deadline would not be kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.decide.deadlines.hypotheses import STAYS_H
from controller.decide.deadlines.situation import Job

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.float32]
MOST_STEPS = 240
"""Work and slack are each cut into at most so many steps."""
LEAST_STEP_H = 0.1
NEVER_USD = 1e6
"""The cost of what is not possible, per hour of on-demand: so high that it is never chosen."""


@dataclass(frozen=True)
class Values:
    """How much more one choice is expected to cost than another, until the job is done.

    The arrays are (work, slack, stays, absences), in US dollars.

    Attributes:
        step_h: The step of work and of slack.
        wait_over_on_demand: Idle without capacity: waiting instead of starting on demand. Slack begins at one change-over.
        spot_over_on_demand: Idle with capacity: starting on spot instead of on demand. Slack begins at one change-over.
        leave_over_stay: On demand without capacity: waiting instead of staying. Slack begins at 0.
        spot_over_stay: On demand with capacity: starting on spot instead of staying. Slack begins at 0.
    """

    step_h: float
    wait_over_on_demand: Table
    spot_over_on_demand: Table
    leave_over_stay: Table
    spot_over_stay: Table


def values(job: Job, spot_usd_per_hour: float) -> Values:
    """Returns the values of a job on spot capacity at this price."""
    slack_h = (job.time_s - job.work_s) / 3600
    step_h = max(LEAST_STEP_H, job.work_s / 3600 / MOST_STEPS, slack_h / MOST_STEPS)
    levels, slacks = math.ceil(job.work_s / 3600 / step_h) + 1, math.ceil(slack_h / step_h) + 2
    program = _Program(job, spot_usd_per_hour, step_h, slacks)
    kinds = [np.zeros((levels, slacks, *program.shape), dtype=np.float32) for _ in range(4)]
    for level in range(1, levels):
        for table, difference in zip(kinds, program.differences_with_another_step_of_work(), strict=True):
            table[level] = difference
    return Values(step_h, *kinds)


class _Program:
    """The dynamic program: from a job that is done back to all its work, step by step."""

    def __init__(self, job: Job, spot_usd_per_hour: float, step_h: float, slacks: int) -> None:
        self._on_demand, self._spot = job.on_demand_usd_per_hour, spot_usd_per_hour
        self._step_h, self._lost_h = step_h, job.change_over_s / 3600
        self._lost = self._lost_h / step_h  # a change-over in steps of slack
        self._never = NEVER_USD * self._on_demand
        lose = 1 - np.exp(-step_h / STAYS_H)
        self._lose, self._return = lose[:, None], lose[None, :]
        self.shape = (len(STAYS_H), len(STAYS_H))
        self._idle = np.zeros((2, slacks, *self.shape))  # (no capacity and capacity, slack from one change-over on, …)
        self._staying = np.zeros((2, slacks, *self.shape))  # on demand: slack from 0 on
        self._riding = np.zeros((slacks, *self.shape))  # on spot: slack from one change-over on

    def differences_with_another_step_of_work(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Adds a step of work, and returns the differences of `Values`."""
        ride = self._spot * self._step_h + (1 - self._lose) * self._riding + self._lose * self._idle[0]
        stay = self._stay()
        begin = self._on_demand * self._lost_h + stay  # idle slack begins a change-over later, so the index is the same
        from_idle = self._spot * self._lost_h + self._later(ride, self._lost)
        from_on_demand = self._spot * self._lost_h + self._later(ride, 2 * self._lost)
        with_capacity = np.minimum(begin[1], from_idle)
        waiting, idle = self._waiting(begin[0], with_capacity)
        leaving = self._later(waiting, self._lost)
        differences = (waiting - begin[0], from_idle - begin[1], leaving - stay[0], from_on_demand - stay[1])
        self._idle = np.stack([idle, with_capacity])
        self._staying = np.stack([np.minimum(stay[0], leaving), np.minimum(stay[1], from_on_demand)])
        self._riding = ride
        return differences

    def _stay(self) -> Floats:
        without, capacity = self._staying
        paid = self._on_demand * self._step_h
        return np.stack(
            [
                paid + (1 - self._return) * without + self._return * capacity,
                paid + (1 - self._lose) * capacity + self._lose * without,
            ]
        )

    def _waiting(self, begin: Floats, with_capacity: Floats) -> tuple[Floats, Floats]:
        """Returns the cost of waiting for a step without capacity, and that of the better of it and on-demand."""
        waiting, best = np.full_like(begin, self._never), begin.copy()
        for slack in range(1, len(begin)):
            waiting[slack] = (1 - self._return) * best[slack - 1] + self._return * with_capacity[slack - 1]
            best[slack] = np.minimum(begin[slack], waiting[slack])
        return waiting, best

    def _later(self, costs: Floats, steps: float) -> Floats:
        """Returns the costs with so much less slack: interpolated, and never where there is too little."""
        whole, part = int(steps), steps - int(steps)
        shifted = np.full_like(costs, self._never)
        size = len(costs) - whole
        if size <= 0:
            return shifted
        shifted[whole:] = costs[:size]
        if part > 0:
            shifted[whole + 1 :] = (1 - part) * costs[1:size] + part * costs[: size - 1]
            shifted[whole] = self._never
        return shifted
