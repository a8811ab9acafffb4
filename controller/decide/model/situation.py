"""The situation that a policy decides in, worked out once from what `decide` is given."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from controller.decide.given import DecisionInput
from controller.decide.limits.bounds import Bounds
from controller.decide.limits.caps import UNBOUNDED, failed_caps, fruitless, node_cap, unavailable_reasons
from controller.decide.limits.surge import Surge
from controller.decide.model.bad_nodes import BadNodes, running_bad_nodes
from controller.decide.model.communication import Communication, fit_communication
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.pricing import in_their_mode, usable_prices
from controller.decide.model.speeds import Speed, measure_speeds
from controller.decide.model.step_time import measured_step_time_s, tokens_per_step
from controller.decide.model.traffic import Traffic, expected_traffic
from controller.decide.samples.credits import Accounts, Burst, told_of
from controller.decide.samples.durations import learned
from controller.decide.samples.memory import too_small
from controller.decide.samples.slowest import Slowest
from controller.decide.samples.starts import began_to_train, last_seen
from controller.decide.samples.windows import Samples, fallen, samples_of
from controller.decide.settings import DecideSettings
from controller.domain import (
    SECONDS_PER_HOUR,
    Fleet,
    History,
    Limits,
    Observation,
    Progress,
)
from controller.domain.reasons import Reason

READ_OBSERVATIONS = 120
"""So many of the last observations of each fleet are worth reading: slow steps have few windows in many of them."""
KEPT_OBSERVATIONS = 30
RECENT_OBSERVATIONS = 5
"""So many of the last observations are kept, whatever they bring."""
LOOKED_AT = 8
"""So many facts of an observation tell which steps it covers."""


@dataclass(frozen=True)
class Situation:
    """What is given, and what follows from it. What is expensive to work out is worked out when it is asked for."""

    now: float
    current: Fleet
    observations: tuple[Observation, ...]
    usd_per_hour: Mapping[str, float]
    """Of the flavors with a sound price, the expected cost of interruptions included."""
    price_faults: Mapping[str, Reason]
    limits: Limits
    progress: Progress | None
    history: History
    settings: DecideSettings
    flavors: tuple[str, ...]

    @cached_property
    def _samples(self) -> Samples:
        """The windows that nodes have reported."""
        return samples_of(self.observations, self.settings)

    @cached_property
    def speeds(self) -> dict[str, Speed]:
        """Speeds measured in this run or in earlier ones."""
        return measure_speeds(self._samples, self.history.earlier_speeds, self.settings, self._accounts)

    @cached_property
    def _accounts(self) -> Accounts:
        """What is known of CPU credits."""
        began_at = began_to_train(self.observations, self.history.moves, self.progress)
        credits = {node: told for present in self.observations[-1:] for node, told in present.credits.items()}
        seen_at = last_seen(self.observations)
        since = min((seen.at for seen in self.observations[-RECENT_OBSERVATIONS:]), default=self.now)
        full, told = self.history.full_tokens_per_s, told_of(self.observations)
        return Accounts(self.now, credits, began_at, seen_at, full, since, told)

    @cached_property
    def bursts(self) -> dict[str, Burst]:
        """How the flavors that are known run faster for a while than they can for ever."""
        return {flavor: speed.burst for flavor, speed in self.measured.items() if speed.burst is not None}

    @cached_property
    def measured(self) -> dict[str, Speed]:
        """The speeds that rest on enough steps."""
        return {flavor: speed for flavor, speed in self.speeds.items() if speed.is_measured}

    def unmeasured(self, flavors: Iterable[str]) -> list[str]:
        """Returns those of the flavors whose speed is not known yet, by name."""
        return sorted(flavor for flavor in flavors if flavor not in self.measured)

    @cached_property
    def communication(self) -> Communication:
        """Communication time by world size, fitted to what was measured."""
        if not self.settings.count_communication:
            return Communication()
        return fit_communication(self.observations, self.settings, self._slowest)

    @cached_property
    def _slowest(self) -> Slowest:
        """What tells the slowest rank of a step."""
        return Slowest(self._samples, self.settings)

    @cached_property
    def fallen(self) -> list[str]:
        """The flavors whose nodes have just become far slower. Their measured speeds do not tell it yet."""
        present = self.observations[-1:]
        return [flavor for one in present for flavor in fallen(self._samples, one, self.settings)]

    @cached_property
    def traffic(self) -> Traffic:
        """What a step's traffic between availability zones costs."""
        return expected_traffic(self.observations, self.settings)

    @cached_property
    def tokens_per_step(self) -> float | None:
        """Target tokens of a step over all ranks; None while unknown."""
        return tokens_per_step(self.observations, self.progress, self.settings)

    @cached_property
    def step_time_s(self) -> float | None:
        """Seconds of a step of the present fleet, as measured lately; None while it was not measured."""
        return measured_step_time_s(self.observations, self.current, self.settings, self._slowest)

    @cached_property
    def bad_nodes(self) -> BadNodes:
        """The nodes that run and are far slower than their flavor."""
        return running_bad_nodes(self.speeds, self.observations)

    @cached_property
    def too_small(self) -> Mapping[str, Reason]:
        """The flavors whose memory can't hold the training, each with the reason."""
        return too_small(self.observations, self.settings)

    @cached_property
    def barred(self) -> dict[str, Reason]:
        """The flavors that may not be started, each with the reason."""
        reasons = {flavor: fault for flavor, fault in self.price_faults.items() if flavor in self.flavors}
        unavailable = unavailable_reasons(self.flavors, self.limits, self.history, self.now)
        return {**reasons, **unavailable, **self.too_small}

    @cached_property
    def bounds(self) -> Bounds:
        """The fleets that the limits allow.

        Nodes that run may stay where their flavor is only unavailable for now, or seems too small.
        """
        caps: dict[str, int] = {}
        untold = fruitless(self.history, self.measured, self.now)
        failed = {**failed_caps(self.history, self.now), **dict.fromkeys(untold, 0)}
        for flavor in self.flavors:
            obtained = max(failed.get(flavor, sys.maxsize), self.current.count(flavor))
            cap = min(node_cap(flavor, self.limits, self.settings), obtained)
            if flavor in self.barred:
                may_stay = flavor not in self.price_faults and flavor not in self.limits.excluded
                cap = min(cap, self.current.count(flavor)) if may_stay else 0
            if cap:
                caps[flavor] = cap
        most = self.limits.max_nodes
        if most is None:
            most = max(UNBOUNDED, self.limits.min_nodes, 2 * self.current.size)
        return Bounds(caps, self.limits.min_nodes, most, self.limits.max_usd_per_hour)

    @cached_property
    def surge(self) -> Surge:
        """What may run while a move is under way."""
        limits = self.limits
        return Surge(limits.max_surge, limits.max_usd_per_hour, self.usd_per_hour, self.settings.head_usd_per_hour)

    @property
    def ending_usd(self) -> float:
        """The dollars that all that runs costs while it is given back. Until then it trains."""
        rate = self.settings.head_usd_per_hour + self.surge.usd_per_hour_of(self.current)
        usd = rate * self.settings.ending_s / SECONDS_PER_HOUR
        if self.traffic.is_free or self.step_time_s is None:
            return usd
        return usd + self.traffic.usd_of(self.current) * self.settings.ending_s / self.step_time_s

    @property
    def remaining_steps(self) -> int | None:
        """Steps still to do; None while the progress is unknown."""
        return None if self.progress is None else self.progress.remaining_steps

    def model(self, speeds: Mapping[str, Speed] | None = None) -> FleetModel | None:
        """Returns the model of fleets with these speeds, or with the measured ones; None while the batch is unknown."""
        if self.tokens_per_step is None:
            return None
        speeds = self.measured if speeds is None else speeds
        return FleetModel(
            tokens_per_s={flavor: speed.tokens_per_s for flavor, speed in speeds.items()},
            usd_per_hour=self.usd_per_hour,
            tokens_per_step=self.tokens_per_step,
            communication_s=cache(self.communication.seconds),
            head_usd_per_hour=self.settings.head_usd_per_hour,
            batches=self.settings.batches,
            log_se={flavor: speed.log_se for flavor, speed in speeds.items()},
            traffic=self.traffic,
        )


def _merged(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Returns the observations oldest first, each moment once, and the latest ones of each flavor and fleet size.

    The last few are kept as they are. Of those before, one that brings no window of its own is left out, so that slow
    steps are remembered as long as fast ones.
    """
    by_time = {observation.at: observation for observation in observations if math.isfinite(observation.at)}
    kept: list[Observation] = []
    seen: dict[tuple[str, int], int] = {}
    for at in sorted(by_time, reverse=True):
        observation = by_time[at]
        if len(kept) >= RECENT_OBSERVATIONS and not _has_own_window(observation, kept[-1]):
            continue
        kinds = [(flavor, observation.fleet.size) for flavor in observation.fleet.present]
        if any(seen.get(kind, 0) < KEPT_OBSERVATIONS for kind in kinds):
            kept.append(observation)
            for kind in kinds:
                seen[kind] = seen.get(kind, 0) + 1
    return tuple(reversed(kept))


def _has_own_window(observation: Observation, later: Observation) -> bool:
    """Tells whether an observation has steps of a node that a later one does not have. All ranks make the same step."""
    if observation.fleet != later.fleet or not observation.facts or len(observation.facts) > len(later.facts):
        return True
    first = min(fact.step - fact.window for fact in later.facts[:LOOKED_AT])
    return max(fact.step for fact in observation.facts[:LOOKED_AT]) <= first


def assess(given: DecisionInput) -> Situation:
    """Works out the situation.

    Raises:
        ValueError: There is no observation.
    """
    if not given.observations:
        raise ValueError("deciding needs at least one observation, the present one")
    present = given.observations[-1]
    history = given.history
    settings = replace(
        given.settings,
        flavors=in_their_mode(given.settings.flavors, present),
        switching=learned(given.settings.switching, history.earlier_durations, history.durations),
    )
    names = {*settings.flavors} if settings.flavors else {*given.prices}
    flavors = tuple(sorted(names | set(present.fleet.present)))
    sound, faults = usable_prices(flavors, given.prices, present.at, settings)
    return Situation(
        now=present.at,
        current=present.fleet,
        observations=_merged(given.observations),
        usd_per_hour=sound,
        price_faults=faults,
        limits=given.limits,
        progress=given.progress,
        history=history,
        settings=settings,
        flavors=flavors,
    )
