"""What is known when a job with a deadline decides, and what it may choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller.decide.deadlines.seen import Seen


@dataclass(frozen=True)
class OnDemand:
    """Running on demand."""


@dataclass(frozen=True)
class Spot:
    """Running on spot.

    Attributes:
        pool: The index of the pool in the job's pools.
    """

    pool: int


@dataclass(frozen=True)
class Wait:
    """Running nothing."""


Choice = OnDemand | Spot | Wait
ON_DEMAND, WAIT = OnDemand(), Wait()


@dataclass(frozen=True)
class Job:
    """A job with a deadline.

    Attributes:
        work_s: The work at its beginning: how long it runs without interruption.
        time_s: The time from its beginning to its deadline.
        change_over_s: How long a start takes until it works, on demand or on spot: it is paid for and does no work.
        step_s: The time between two decisions.
        on_demand_usd_per_hour: The price on demand.
        spot_usd_per_hour: The price of each spot pool.
        idle_usd_per_hour: What is paid while it waits.
        most_steps: Into how many steps work and slack are cut at most where costs are worked out ahead.
    """

    work_s: float
    time_s: float
    change_over_s: float
    step_s: float
    on_demand_usd_per_hour: float
    spot_usd_per_hour: tuple[float, ...]
    idle_usd_per_hour: float = 0.0
    most_steps: int = 120

    @property
    def is_possible(self) -> bool:
        """Whether on-demand alone would keep the deadline."""
        return self.work_s + self.change_over_s <= self.time_s


@dataclass(frozen=True)
class Situation:
    """What is known at one decision.

    Attributes:
        job: The job.
        work_left_s: The work that is left.
        time_left_s: The time to the deadline.
        running: What runs, or `WAIT`. A pool that EC2 has just taken back does not run any more.
        change_over_left_s: How much of its change-over is left; 0 where it works.
        available: Whether each pool has capacity now.
        seen: What was seen of the pools.
    """

    job: Job
    work_left_s: float
    time_left_s: float
    running: Choice
    change_over_left_s: float
    available: tuple[bool, ...]
    seen: Seen

    @property
    def slack_s(self) -> float:
        """The time that may pass without work."""
        return self.time_left_s - self.work_left_s


Policy = Callable[[Situation], Choice]
"""A policy. It keeps nothing between two calls: what it learns is in the situation."""


def cheapest_available(situation: Situation) -> Spot | None:
    """Returns the running pool, or the cheapest pool that has capacity; None where none has."""
    running = situation.running
    if isinstance(running, Spot) and situation.available[running.pool]:
        return running
    prices = situation.job.spot_usd_per_hour
    pools = [pool for pool, is_available in enumerate(situation.available) if is_available]
    return Spot(min(pools, key=lambda pool: (prices[pool], pool))) if pools else None
