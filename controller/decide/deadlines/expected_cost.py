"""Our policy: what is expected to cost least until the job is done, within the safety net."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from controller.decide.deadlines.hypotheses import (
    ABSENCES,
    MEANS_H,
    STAYS,
    Floats,
    at_age,
    kinds_alone,
    kinds_and_classes,
)
from controller.decide.deadlines.safety import kept_safe
from controller.decide.deadlines.seen import Seen, Stays
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Situation, Spot
from controller.decide.deadlines.values import Table, Values, values

COVERED = (0.0, 0.4, 0.7, 0.9, 0.98)
"""How likely another pool has capacity when one loses its own: values are computed for these."""

_values = lru_cache(maxsize=6)(values)  # some ten megabytes each


def expected_cost(situation: Situation) -> Choice:
    """Returns the choice that is expected to cost least: on-demand, spot in a pool, or to wait.

    Spot that runs goes on until it is taken back. Else the choices are compared by their expected cost until the job
    is done (`values.py`), averaged over kinds of pools, by their likelihood given what was seen (`hypotheses.py`), and
    over the ages of stays where these are not known. Averaging the costs of fully informed continuations is QMDP
    (Littman, Cassandra and Kaelbling, Learning policies for partially observable environments, ICML 1995): later steps
    are taken as better informed of the kinds than this one. Several pools count as one, which has capacity where any
    has.
    """
    spot = best_pool(situation)
    if isinstance(situation.running, Spot) and spot is not None:
        return kept_safe(spot, situation)
    return kept_safe(_compared(situation, spot), situation)


def _compared(situation: Situation, spot: Spot | None) -> Choice:
    job, is_on_demand = situation.job, situation.running == ON_DEMAND
    if not job.spot_usd_per_hour:
        return ON_DEMAND
    usd = min(job.spot_usd_per_hour) if spot is None else job.spot_usd_per_hour[spot.pool]
    table, likely = _values(job, usd, covered(situation.seen, spot)), _likely(situation, spot)
    if spot is None:
        costs = table.leave_over_stay if is_on_demand else table.wait_over_on_demand
        return WAIT if _mean(costs, likely, table, situation) < 0 else ON_DEMAND
    if is_on_demand:
        return spot if _mean(table.spot_over_stay, likely, table, situation) < 0 else ON_DEMAND
    over_on_demand = _mean(table.spot_over_on_demand, likely, table, situation)
    over_wait = _mean(table.spot_over_wait, likely, table, situation)
    if max(over_on_demand, over_wait) <= 0:
        return spot
    return ON_DEMAND if over_on_demand > over_wait else WAIT


def _likely(situation: Situation, spot: Spot | None) -> Floats:
    """Returns how likely each kind of pool and age of what goes on now is: (stays, absences, spans), in sum 1."""
    together = situation.seen.together
    assert together is not None, "a policy is asked after the first look"
    if spot is not None:
        pool = situation.seen.pools[spot.pool]
        stays = kinds_and_classes(STAYS, pool.stays, pool.age_s, pool.is_first).sum(axis=1)
        ages = at_age(STAYS, pool.age_s, pool.is_first)
        return np.asarray((stays[:, None] * ages)[:, None, :] * kinds_alone(together.absences)[None, :, None])
    absences = kinds_and_classes(ABSENCES, together.absences, together.age_s, together.is_first).sum(axis=1)
    ages = at_age(ABSENCES, together.age_s, together.is_first)
    stays_of_all = np.sum([pool.stays for pool in situation.seen.pools], axis=0)
    return np.asarray(kinds_alone(tuple(stays_of_all))[:, None, None] * (absences[:, None] * ages)[None, :, :])


def _mean(costs: Table, likely: Floats, table: Values, situation: Situation) -> float:
    """Returns a difference of costs in a situation, averaged."""
    is_on_demand = situation.running == ON_DEMAND
    used_s = situation.change_over_left_s if is_on_demand else situation.job.change_over_s
    slack = max(0.0, (situation.slack_s - used_s) / 3600 / table.step_h)
    level = min(len(costs) - 1, max(1, math.ceil(situation.work_left_s / 3600 / table.step_h - 1e-9)))
    below = min(int(slack), costs.shape[1] - 2)
    part = min(1.0, slack - below)
    at = (1 - part) * costs[level, below] + part * costs[level, below + 1]
    return float((likely * at).sum())


def covered(seen: Seen, spot: Spot | None) -> float:
    """Returns how likely another pool has capacity when one loses its own, rounded to one of `COVERED`.

    Args:
        seen: What was seen of the pools.
        spot: The pool that may be lost; None where none has capacity now.
    """
    if len(seen.pools) < 2:
        return 0.0
    others = [stays.is_up for pool, stays in enumerate(seen.pools) if spot is None or pool != spot.pool]
    if any(others):
        share = (seen.beside.covered + 4) / (seen.beside.losses + 5)  # other pools mostly keep what they have
    else:
        share = (seen.alone.covered + 1) / (seen.alone.losses + 4)
    return min(COVERED, key=lambda value: abs(value - share))


def best_pool(situation: Situation) -> Spot | None:
    """Returns the running pool while it has capacity, else the best one that has; None where none has.

    The best pool has the least price with its expected losses: each costs a change-over.
    """
    running = situation.running
    if isinstance(running, Spot) and situation.available[running.pool]:
        return running
    pools = [pool for pool, is_available in enumerate(situation.available) if is_available]
    if len(pools) < 2:
        return Spot(pools[0]) if pools else None
    job, seen = situation.job, situation.seen.pools
    lost_h, left_h = job.change_over_s / 3600, max(situation.work_left_s, job.step_s) / 3600
    costs = {pool: job.spot_usd_per_hour[pool] * (1 + lost_h / stay_h(seen[pool], left_h)) for pool in pools}
    return Spot(min(pools, key=lambda pool: (costs[pool], pool)))


def stay_h(stays: Stays, most_h: float) -> float:
    """Returns how long the capacity that a pool has is expected to stay, counted up to a length, in hours."""
    likely = kinds_and_classes(STAYS, stays.stays, stays.age_s, stays.is_first).sum(axis=0)
    return float(likely @ (MEANS_H * (1 - np.exp(-most_h / MEANS_H))))
