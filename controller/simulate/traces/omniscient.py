"""What a job costs at least, for somebody who knows what capacity there will be."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from controller.decide.deadlines.situation import Job
from controller.simulate.traces.trace import Flags


def omniscient_usd(job: Job, available: Flags) -> float:
    """Returns the least cost of a job; infinite where nothing keeps the deadline.

    It is a dynamic program over steps, what runs, and work done. It is exact, for one pool and for several: work is
    counted in the greatest common divisor of the step and the change-over (in whole seconds), so nothing is rounded.
    A start takes the whole change-over off the work done at once. A start that ends before its change-over does is
    counted too low by this, but it is never better than not to start. A time that is no whole number of steps counts
    as the next one.

    Args:
        job: The job.
        available: What the pools have, (steps, pools).
    """
    idle_usd = job.idle_usd_per_hour * job.step_s / 3600
    unit = reduce(math.gcd, (round(job.step_s), round(job.change_over_s)))
    step, lost = round(job.step_s) // unit, round(job.change_over_s) // unit
    whole, steps = math.ceil(round(job.work_s, 3) / unit), math.ceil(round(job.time_s / job.step_s, 6))
    prices = np.array([job.on_demand_usd_per_hour, *job.spot_usd_per_hour]) * job.step_s / 3600
    least = np.full((1 + len(prices), whole + lost + 1), np.inf)  # (idle and modes, lost + work done)
    least[0, lost] = 0.0
    for at in range(steps):
        begin = max(0, lost + whole - (steps - at) * step)  # less work done than this can't be finished
        end = min(whole + lost, lost + at * step) + 1
        if begin >= end:
            return math.inf
        now = least[:, begin:end]
        best = now.min(axis=0)
        after = np.full_like(least, np.inf)
        after[0, begin:end] = best + idle_usd
        modes = [0, *(1 + np.flatnonzero(available[at]))]
        for mode in modes:
            _take(after[1 + mode], now[1 + mode] + prices[mode], begin + step)
            _take(after[1 + mode], best + prices[mode], begin + step - lost)
        least = after
    return float(least[:, -1].min())


def _take(target: NDArray[np.float64], values: NDArray[np.float64], first: int) -> None:
    """Lowers a row to the values where they are less; work beyond the whole counts as the whole."""
    if first < 0:
        values, first = values[-first:], 0
    inside = max(0, min(len(values), len(target) - first))
    np.minimum(target[first : first + inside], values[:inside], out=target[first : first + inside])
    if inside < len(values):
        target[-1] = min(target[-1], values[inside:].min())
