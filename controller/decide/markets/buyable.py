"""What a run with a deadline could buy for the rest of its work: a fleet on demand, and one from each spot pool."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Job, Spot
from controller.decide.deadlines.situation import Choice as Running
from controller.decide.limits.caps import node_cap
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.hardware.prior import expected_speeds
from controller.decide.model.risk import margin, usual_bounds
from controller.decide.model.situation import Situation
from controller.decide.search.best_fleet import best_fleet
from controller.decide.search.choice import ROOM_SIZES, ROOM_TOLERANCE, best_choice, fastest_step_s
from controller.domain import SECONDS_PER_HOUR, Fleet, Market
from controller.domain.objective import Objective
from controller.domain.reasons import Reason

STEPS = 60
"""Into how many steps the work and the slack of a live run are cut: its tables have a few megabytes."""


HASTE_SHARE = 2.0
"""By how much more the work may cost on demand where it begins as late as possible: spot costs about a third, and with
less room on demand would have to begin where spot would never have been taken back."""


@dataclass(frozen=True)
class Pool:
    """What could be bought from one spot pool.

    Attributes:
        flavor: The flavor, which is the pool.
        fleet: Its cheapest fleet that is in time for the rest of the work; where none is, its cheapest one.
        usd_per_hour: What the work costs there that the fastest fleet on demand does in an hour.
        is_in_time: Whether it keeps the deadline if EC2 never takes it back.
    """

    flavor: str
    fleet: Fleet
    usd_per_hour: float
    is_in_time: bool = True


@dataclass(frozen=True)
class Buyable:
    """What could be bought.

    The work is planned with the fastest fleet on demand that is not too expensive. It is bought where on-demand has to
    begin as late as possible.

    Attributes:
        on_demand: The fleet on demand that costs least among those that keep the deadline surely enough; where none
            does, the fastest one.
        shortfall: Why it does not keep the deadline; None where it does.
        usd_per_hour: What the work costs with `on_demand` that the fastest fleet does in an hour.
        work_s: How long the fastest fleet takes for the rest of the work, at most, with the confidence that is asked
            for.
        total_s: How long it takes for the whole training, alike.
        pools: What the spot pools offer. Those of the nodes that run are among them.
        change_over_s: How long a start takes until it works.
        present_s: How long the nodes that run are expected to take for the rest of the work; infinity where unknown.
    """

    on_demand: Fleet
    shortfall: Reason | None
    usd_per_hour: float
    work_s: float
    total_s: float
    pools: tuple[Pool, ...]
    change_over_s: float
    present_s: float = math.inf

    @property
    def needed_s(self) -> float:
        """How long the rest of the work takes on demand, its start included."""
        return self.work_s + self.change_over_s

    def job(self, time_s: float, step_s: float, head_usd_per_hour: float) -> Job:
        """Returns the training as a job with a deadline.

        Its figures are rounded: what a job costs is worked out once for many passes that differ by little.

        Args:
            time_s: The time from its beginning to its deadline.
            step_s: How long it takes until the next decision.
            head_usd_per_hour: What is paid while nothing else is.
        """
        return Job(
            rounded_up(self.total_s),
            max(rounded_up(time_s), rounded_up(self.total_s)),
            rounded_up(self.change_over_s),
            step_s,
            rounded(self.usd_per_hour),
            tuple(rounded(pool.usd_per_hour) for pool in self.pools),
            idle_usd_per_hour=rounded(head_usd_per_hour),
            most_steps=STEPS,
        )


def rounded(value: float) -> float:
    """Returns a value with two digits that count."""
    return float(f"{value:.1e}")


def rounded_up(value: float) -> float:
    """Returns a value that is not less, with two digits that count."""
    near = rounded(value)
    return near if near >= value else rounded(value * 1.05)


def buyable(situation: Situation) -> Buyable | None:
    """Returns what a run with a deadline could buy; None where that is unknown, or one of the markets has nothing."""
    model = believed(situation)
    progress = situation.progress
    if model is None or progress is None or not progress.remaining_steps:
        return None
    caps = {flavor: cap for flavor, cap in situation.bounds.caps.items() if not is_spot(situation, flavor)}
    forecaster = Forecaster.of(situation, model, replace(situation.bounds, caps=caps))
    choice = best_choice(forecaster)
    if choice is None or not model.knows(choice.forecast.target):
        return None
    needs_s = partial(_step_at_most_s, forecaster)
    fast = min((choice.forecast.target, *_fast(forecaster)), key=needs_s)
    step_s = needs_s(fast)
    usd_per_hour = model.usd_per_step(choice.forecast.target) / step_s * SECONDS_PER_HOUR
    switching = situation.settings.switching
    return Buyable(
        choice.forecast.target,
        choice.shortfall,
        usd_per_hour,
        progress.remaining_steps * step_s,
        progress.total_steps * step_s,
        tuple(_pools(forecaster, step_s, usd_per_hour)),
        switching.grow_s + 2 * switching.pause_s,
        forecaster.stay.remaining_s if forecaster.knows_current else math.inf,
    )


def _step_at_most_s(forecaster: Forecaster, fleet: Fleet) -> float:
    """Returns how long a step takes at most, as surely as is asked for. Spot may be gone before it begins."""
    spare = 1 + margin(forecaster, fleet, fastest_step_s(forecaster), works_meanwhile=False)
    return forecaster.step_time_s(fleet) * (1 + forecaster.model_error) * spare


def _fast(forecaster: Forecaster) -> Iterable[Fleet]:
    """Yields the fastest fleets, of all flavors and of those that were measured, that are not too expensive.

    The later on-demand has to begin, the more of the work spot can do. The cheapest fleet that keeps the deadline would
    always have to begin now.
    """
    model, bounds = forecaster.model, forecaster.bounds
    cheapest = best_fleet(model, bounds)
    most_usd = None if cheapest is None else (1 + HASTE_SHARE) * cheapest.usd_per_step
    measured = {flavor: cap for flavor, cap in bounds.caps.items() if flavor in forecaster.situation.measured}
    for caps in (bounds.caps, measured):
        within = replace(bounds, caps=caps, max_usd_per_step=most_usd)
        found = best_fleet(model, within, Objective.TIME, ROOM_TOLERANCE, ROOM_SIZES)
        if found is not None:
            yield found.fleet


def believed(situation: Situation) -> FleetModel | None:
    """Returns the model with measured speeds, and for flavors that were not measured with the expected ones."""
    if not situation.measured:
        return None
    unmeasured = situation.unmeasured(situation.flavors)
    guesses = expected_speeds(unmeasured, situation.measured, situation.usd_per_hour, situation.settings)
    return situation.model({**guesses, **situation.measured})


def is_spot(situation: Situation, flavor: str) -> bool:
    """Returns whether a flavor is bought on spot."""
    known = situation.settings.flavors.get(flavor)
    return known is not None and known.market is Market.SPOT


def running(situation: Situation, pools: Iterable[Pool]) -> Running:
    """Returns which market the nodes that run were bought on. A fleet of both counts as spot: it loses these nodes."""
    counts = {at: situation.current.count(pool.flavor) for at, pool in enumerate(pools)}
    most = max(counts, key=lambda at: (counts[at], -at), default=None)
    if most is not None and counts[most]:
        return Spot(most)
    return ON_DEMAND if situation.current.size else WAIT


def _pools(forecaster: Forecaster, on_demand_step_s: float, usd_per_hour: float) -> Iterable[Pool]:
    """Yields the pools, those without capacity for now included, each with a fleet that is in time if it has one.

    One that nodes run from counts as expensive as on-demand where its price is not known.
    """
    situation, model, usual = forecaster.situation, forecaster.model, usual_bounds(forecaster)
    for flavor in filter(partial(is_spot, situation), situation.flavors):
        runs, caps = situation.current.count(flavor), {flavor: _most(situation, flavor)}
        in_time = best_fleet(model, replace(usual, caps=caps))
        found = in_time or best_fleet(model, replace(forecaster.bounds, caps=caps))
        if found is not None:
            usd_per_work_hour = found.usd_per_step / on_demand_step_s * SECONDS_PER_HOUR
            yield Pool(flavor, found.fleet, usd_per_work_hour, is_in_time=in_time is not None)
        elif runs:
            yield Pool(flavor, Fleet({flavor: runs}), usd_per_hour)


def _most(situation: Situation, flavor: str) -> int:
    """Returns how many nodes of a flavor there may be once its pool has capacity."""
    if flavor in (*situation.price_faults, *situation.limits.excluded, *situation.too_small):
        return 0
    return node_cap(flavor, situation.limits, situation.settings)
