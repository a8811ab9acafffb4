"""The choice between on demand, spot and waiting, for a run with a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.decide.deadlines import situation as deadlines
from controller.decide.deadlines.expected_cost import expected_cost
from controller.decide.deadlines.safety import is_safe
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Choice, Spot
from controller.decide.markets.buyable import Buyable, buyable, running
from controller.decide.markets.timeline import seen_of
from controller.decide.model.situation import Situation
from controller.decide.replacing.pools import recent
from controller.domain import Market
from controller.domain.reasons.limits import DeadlineOutOfReach

LEAST_LOOK_S = 1.0
DOUBT = 0.03
"""By which share the rest of the work may turn out to take longer once other nodes run. Nodes on demand are given up
for spot where they could come back even then: otherwise they would have to come back at once."""
LATE_SHARE = 0.1
"""A share of the time that on-demand needs. Where it would be late by more, nodes on spot may do the rest."""


@dataclass(frozen=True)
class Advice:
    """What a run with a deadline should run on.

    Attributes:
        choice: On demand, spot from one of the pools of `buyable`, or nothing for now.
        running: What runs now.
        buyable: What could be bought.
        left_s: The time to the deadline.
        is_open: Whether on-demand could begin later than now and still keep the deadline.
        may_try: Whether it still could after a move that is given up in the end, with `DOUBT` where on-demand runs.
    """

    choice: Choice
    running: Choice
    buyable: Buyable
    left_s: float
    is_open: bool
    may_try: bool

    @property
    def needed_s(self) -> float:
        """How long the rest of the work takes on demand, its start included."""
        return self.buyable.needed_s


def advice(situation: Situation) -> Advice | None:
    """Returns what a run with a deadline should run on.

    None where it has no deadline, or no choice of markets, or where speeds are not known yet. None also where nodes run
    and not even on-demand keeps the deadline surely: then the policy of fleets takes what is most likely to.
    """
    deadline_at, progress = situation.limits.deadline_at, situation.progress or situation.history.progress
    has_spot = any(flavor.market is Market.SPOT for flavor in situation.settings.flavors.values())
    if deadline_at is None or progress is None or not has_spot:
        return None
    if situation.progress is None:
        situation = replace(situation, progress=progress)
    bought = buyable(situation)
    if bought is None:
        return None
    asked = _asked(situation, bought, deadline_at - situation.now, deadline_at - progress.started_at)
    calm_s, doubt = (situation.settings.cooldown_s, DOUBT) if asked.running == ON_DEMAND else (0.0, 0.0)
    attempt_s = max(LEAST_LOOK_S, situation.settings.attempt_s + calm_s)
    if situation.current.size and _is_out_of_reach(asked, bought, attempt_s):
        return None
    patient = replace(asked, job=replace(asked.job, step_s=attempt_s), work_left_s=asked.work_left_s * (1 + doubt))
    is_open, may_try = is_safe(WAIT, asked), is_safe(WAIT, patient)
    choice = expected_cost(asked)
    if not is_open or (isinstance(choice, Spot) and choice != asked.running and not may_try):
        choice = ON_DEMAND
    return Advice(choice, asked.running, bought, asked.time_left_s, is_open, may_try)


def _is_out_of_reach(asked: deadlines.Situation, bought: Buyable, attempt_s: float) -> bool:
    """Returns whether on-demand does not keep the deadline, or would be much too late if it began.

    That is by more than an attempt, or than `LATE_SHARE` of what it needs.

    Nodes on demand that run are kept all the same while they are expected to be in time: that is not sure then, but
    nodes on spot are no surer.
    """
    keeps = asked.running == ON_DEMAND and bought.present_s <= asked.time_left_s
    late_s = min(attempt_s, LATE_SHARE * bought.needed_s)
    is_late = not keeps and bought.needed_s > asked.time_left_s + late_s
    return is_late or isinstance(bought.shortfall, DeadlineOutOfReach)


def _asked(situation: Situation, bought: Buyable, left_s: float, time_s: float) -> deadlines.Situation:
    """Returns the situation as the policies of `controller/decide/deadlines/` know it."""
    settings = situation.settings
    available = _available(situation, [pool.flavor for pool in bought.pools])
    works = any(fact.step for present in situation.observations[-1:] for fact in present.facts)
    return deadlines.Situation(
        job=bought.job(time_s, max(LEAST_LOOK_S, settings.look_s), settings.head_usd_per_hour),
        work_left_s=bought.work_s,
        time_left_s=left_s,
        running=running(situation, bought.pools),
        change_over_left_s=0.0 if works else bought.change_over_s,
        available=tuple(available.values()),
        seen=seen_of(available, situation.history, situation.now + left_s - time_s, situation.now),
    )


def _available(situation: Situation, pools: Sequence[str]) -> dict[str, bool]:
    """Returns by pool whether it may have capacity. One that has just lost a node comes after the others."""
    runs = [pool for pool in pools if situation.current.count(pool)]
    tried = [pool for pool in pools if pool not in situation.barred]
    lost = recent(situation.history.noticed, situation.now)
    others = [pool for pool in tried if pool not in lost]
    return {pool: pool in runs or pool in (others or tried) for pool in pools}
