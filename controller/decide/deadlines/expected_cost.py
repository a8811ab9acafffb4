"""Our policy: what is expected to cost least until the job is done, within the safety net."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from controller.decide.deadlines.hypotheses import weights
from controller.decide.deadlines.safety import kept_safe
from controller.decide.deadlines.seen import Stays
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Job, Situation, Spot
from controller.decide.deadlines.values import Table, Values, values

PRIOR_LOSSES, PRIOR_UP_S = 0.5, 2 * 3600.0
"""What is assumed of a pool before it was seen: it weighs as much as this many losses in that time."""

_values = lru_cache(maxsize=64)(values)


def expected_cost(situation: Situation) -> Choice:
    """Returns the choice that is expected to cost least: on-demand, spot in a pool, or to wait.

    Spot that runs goes on until it is taken back. Else the choices are compared by their expected cost until the job is done
    (`values.py`), averaged over hypotheses of how spot capacity comes and goes, by their likelihood given what was seen
    (`hypotheses.py`). Averaging the costs of fully informed continuations is QMDP (Littman, Cassandra and Kaelbling, Learning
    policies for partially observable environments, ICML 1995): later steps are taken as better informed than this one. Several
    pools count as one that has capacity where any has.
    """
    spot = best_pool(situation)
    if isinstance(situation.running, Spot) and spot is not None:
        return kept_safe(spot, situation)
    return kept_safe(_compared(situation, spot), situation)


def _compared(situation: Situation, spot: Spot | None) -> Choice:
    job, is_on_demand = situation.job, situation.running == ON_DEMAND
    table = _values(job, min(job.spot_usd_per_hour)) if job.spot_usd_per_hour else None
    if table is None:
        return ON_DEMAND
    if spot is not None:
        costs = table.spot_over_stay if is_on_demand else table.spot_over_on_demand
        return spot if _mean(costs, table, situation) < 0 else ON_DEMAND
    costs = table.leave_over_stay if is_on_demand else table.wait_over_on_demand
    return WAIT if _mean(costs, table, situation) < 0 else ON_DEMAND


def _mean(costs: Table, table: Values, situation: Situation) -> float:
    """Returns a difference of costs in a situation, averaged over the hypotheses."""
    is_on_demand = situation.running == ON_DEMAND
    used_s = situation.change_over_left_s if is_on_demand else situation.job.change_over_s
    slack = max(0.0, (situation.slack_s - used_s) / 3600 / table.step_h)
    level = min(len(costs) - 1, max(1, math.ceil(situation.work_left_s / 3600 / table.step_h - 1e-9)))
    below = min(int(slack), costs.shape[1] - 2)
    part = min(1.0, slack - below)
    at = (1 - part) * costs[level, below] + part * costs[level, below + 1]
    stays, absences = weights(situation.seen.together)
    return float(stays @ at.astype(np.float64) @ absences)


def best_pool(situation: Situation) -> Spot | None:
    """Returns the running pool while it has capacity, else the best one that has; None where none has.

    The best pool has the least price with its expected losses: each costs a change-over.
    """
    running = situation.running
    if isinstance(running, Spot) and situation.available[running.pool]:
        return running
    pools = [pool for pool, is_available in enumerate(situation.available) if is_available]
    if not pools:
        return None
    return Spot(min(pools, key=lambda pool: (_usd_per_hour(pool, situation.job, situation.seen.pools[pool]), pool)))


def _usd_per_hour(pool: int, job: Job, stays: Stays) -> float:
    losses_per_s = (stays.losses + PRIOR_LOSSES) / (stays.up_s + PRIOR_UP_S)
    return job.spot_usd_per_hour[pool] * (1 + losses_per_s * job.change_over_s)
