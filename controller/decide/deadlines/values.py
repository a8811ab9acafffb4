"""What it costs to wait, to run on spot and to run on demand, until the job is done, if one knew the kind of the pools.

A dynamic program over the work that is left and the slack (the time left without the work left). In a step of
running, work is done and slack stays; in a step of waiting, slack goes by. A start costs a change-over of money and
of slack. Capacity comes and goes as `hypotheses.py` says: the longer a stay or an absence has lasted, the longer it
lasts.

Arrays are (slack, kinds of pool, spans of the age of the stay or the absence). Slack begins at 0 on demand, and at one
change-over where on-demand does not run: with less, the deadline would not be kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.decide.deadlines.hypotheses import ABSENCES, SPANS, STAYS, ageing, spent_in_spans
from controller.decide.deadlines.situation import Job

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.float32]
LEAST_STEP_H = 0.1
NEVER_USD = 1e4
"""The cost of what is not possible, by the dollar that on-demand costs an hour: so high that it is not chosen."""


@dataclass(frozen=True)
class Values:
    """How much more one choice is expected to cost than another, until the job is done, in US dollars.

    The arrays are (work, slack, kinds of stays, kinds of absences, spans of ages).

    Attributes:
        step_h: The step of work and of slack.
        wait_over_on_demand: Idle without capacity: waiting instead of starting on demand. Slack begins at one
            change-over.
        spot_over_on_demand: Idle with capacity: starting on spot instead of on demand. Slack begins at one change-over.
        spot_over_wait: Idle with capacity: starting on spot instead of leaving this capacity alone. Slack as before.
        leave_over_stay: On demand without capacity: waiting instead of staying. Slack begins at 0.
        spot_over_stay: On demand with capacity: starting on spot instead of staying. Slack begins at 0.
    """

    step_h: float
    wait_over_on_demand: Table
    spot_over_on_demand: Table
    spot_over_wait: Table
    leave_over_stay: Table
    spot_over_stay: Table


def values(job: Job, spot_usd_per_hour: float, covered: float) -> Values:
    """Returns the values of a job.

    Args:
        job: The job.
        spot_usd_per_hour: What spot costs.
        covered: How likely another pool has capacity when one loses its own.
    """
    slack_h = (job.time_s - job.work_s) / 3600
    step_h = max(LEAST_STEP_H, job.work_s / 3600 / job.most_steps, slack_h / job.most_steps)
    levels, slacks = math.ceil(job.work_s / 3600 / step_h - 1e-9) + 1, math.ceil(slack_h / step_h) + 2
    program = _Program(job, spot_usd_per_hour, covered, step_h, slacks)
    shape = (levels, slacks, len(STAYS), len(ABSENCES), SPANS)
    tables = [np.zeros(shape, dtype=np.float32) for _ in range(5)]
    for level in range(1, levels):
        for table, difference in zip(tables, program.differences_with_another_step_of_work(), strict=True):
            table[level] = difference.reshape(shape[1:])
    return Values(step_h, *tables)


class _Program:
    """The dynamic program: from a job that is done back to all its work, step by step."""

    def __init__(self, job: Job, spot_usd_per_hour: float, covered: float, step_h: float, slacks: int) -> None:
        self._on_demand, self._spot = job.on_demand_usd_per_hour, spot_usd_per_hour
        self._step_h, self._lost_h, self._covered = step_h, job.change_over_s / 3600, covered
        self._starting = self._lost_h / step_h  # a change-over in steps of slack
        self._idle_usd = job.idle_usd_per_hour * step_h
        self._never = NEVER_USD * self._on_demand
        self._stay = np.repeat(ageing(STAYS, step_h), len(ABSENCES), axis=0)  # (kinds, spans, spans after)
        self._stay_away = np.tile(ageing(ABSENCES, step_h), (len(STAYS), 1, 1))
        self._lost, self._come = (1 - chances.sum(axis=2) for chances in (self._stay, self._stay_away))
        met = spent_in_spans(STAYS)
        self._met = np.repeat(met / met.sum(axis=1, keepdims=True), len(ABSENCES), axis=0)  # (kinds, spans)
        shape = (slacks, len(self._met), SPANS)
        self._absent, self._present = np.zeros(shape), np.zeros(shape)  # idle, without capacity and with
        self._absent_paid, self._present_paid = np.zeros(shape), np.zeros(shape)  # on demand
        self._riding = np.zeros(shape)

    def differences_with_another_step_of_work(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Adds a step of work, and returns the differences of `Values`."""
        ride = self._spot * self._step_h + self._after_present(self._riding, self._absent, self._present)
        paid = self._on_demand * self._step_h
        stay_absent = paid + self._after_absent(self._absent_paid, self._present_paid)
        stay_present = paid + self._after_present(self._present_paid, self._absent_paid, self._present_paid)
        # Idle slack begins a change-over later than slack on demand, so that its index stays the same at a start.
        begin_absent, begin_present = (self._on_demand * self._lost_h + stay for stay in (stay_absent, stay_present))
        from_idle = self._spot * self._lost_h + self._later(ride, self._starting)
        from_paid = self._spot * self._lost_h + self._later(ride, 2 * self._starting)
        self._present = np.minimum(begin_present, from_idle)
        waiting, ignoring = self._idle(begin_absent)
        leaving = self._later(waiting, self._starting)
        self._absent_paid = np.minimum(stay_absent, leaving)
        self._present_paid = np.minimum(stay_present, from_paid)
        self._riding = ride
        return (
            waiting - begin_absent,
            from_idle - begin_present,
            from_idle - ignoring,
            leaving - stay_absent,
            from_paid - stay_present,
        )

    def _idle(self, begin: Floats) -> tuple[Floats, Floats]:
        """Returns the cost of waiting for a step without capacity, and that of ignoring capacity until it goes.

        The cost of being idle, without capacity and with, is kept in the program.
        """
        waiting, ignoring = np.full_like(begin, self._never), np.full_like(begin, self._never)
        absent, present = begin.copy(), self._present
        for slack in range(1, len(begin)):
            waiting[slack] = self._idle_usd + self._after_absent(absent[slack - 1], present[slack - 1])
            gone = absent[slack - 1, :, :1]
            ignoring[slack] = self._idle_usd + _kept(self._stay, ignoring[slack - 1]) + self._lost * gone
            np.minimum(absent[slack], waiting[slack], out=absent[slack])
            np.minimum(present[slack], ignoring[slack], out=present[slack])
        self._absent = absent
        return waiting, ignoring

    def _after_absent(self, absent: Floats, present: Floats) -> Floats:
        """Returns the expected cost after a step that began without capacity: (…, kinds, spans)."""
        return np.asarray(_kept(self._stay_away, absent) + self._come * present[..., :1])

    def _after_present(self, kept: Floats, absent: Floats, other: Floats) -> Floats:
        """Returns the expected cost after a step that began with capacity: it stays, goes, or another pool has some."""
        covered = (self._met * other).sum(axis=2, keepdims=True)
        lost = (1 - self._covered) * absent[..., :1] + self._covered * covered
        return np.asarray(_kept(self._stay, kept) + self._lost * lost)

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


def _kept(chances: Floats, costs: Floats) -> Floats:
    """Returns the expected costs of a stay that lasts, times the chance that it does: (…, kinds, spans)."""
    return np.asarray((chances @ costs[..., None])[..., 0])
