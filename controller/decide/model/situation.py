"""Everything a policy decides on, worked out once from what `decide` is given."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from controller.decide.given import DecisionInput
from controller.decide.limits.bounds import Bounds
from controller.decide.limits.caps import UNBOUNDED, failed_caps, node_cap, unavailable_reasons
from controller.decide.model.communication import Communication, fit_communication
from controller.decide.model.fleet_model import TOKENS_PER_MILLION, FleetModel
from controller.decide.model.pricing import usable_prices
from controller.decide.model.speeds import Speed, is_usable, measure_speeds, median
from controller.decide.settings import DecideSettings
from controller.domain import (
    SECONDS_PER_HOUR,
    Decision,
    Fact,
    FlavorEstimate,
    Fleet,
    FleetEstimate,
    History,
    Limits,
    Observation,
    Price,
    Progress,
    Verdict,
)
from controller.domain.batches import Batches
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import NotMeasured

KEPT_OBSERVATIONS = 30
RECENT_STEP_TIMES = 5
SETTLED_IMBALANCE = 1.25
"""How much longer than with an even division of the work the slowest rank may take once batches are balanced."""


@dataclass(frozen=True)
class Situation:
    """What was given, and what follows from it. `speeds` and `communication` are worked out when asked for."""

    now: float
    current: Fleet
    observations: tuple[Observation, ...]
    given_prices: Mapping[str, Price]
    usd_per_hour: Mapping[str, float]
    """Of the flavors with a sound price, the expected cost of interruptions included."""
    price_faults: Mapping[str, Reason]
    limits: Limits
    progress: Progress | None
    history: History
    settings: DecideSettings
    flavors: tuple[str, ...]

    @cached_property
    def speeds(self) -> dict[str, Speed]:
        """Speeds measured in this run or in earlier ones."""
        return measure_speeds(self.observations, self.history.known_tokens_per_s, self.settings)

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
        return fit_communication(self.observations, self.settings)

    @cached_property
    def tokens_per_step(self) -> float | None:
        """Target tokens of a step over all ranks: from progress, or else from an observation where all ranks report."""
        if self.progress is not None and self.progress.tokens_per_step:
            return self.progress.tokens_per_step
        totals = []
        for observation in self.observations:
            usable = [fact for fact in observation.facts if is_usable(fact, observation.at, self.settings)]
            if usable and all(fact.world_size == len(usable) for fact in usable):
                totals.append(sum(fact.tokens for fact in usable if fact.tokens))
        return median(totals) if totals else None

    @cached_property
    def step_time_s(self) -> float | None:
        """What a step of the present fleet takes, as it was measured lately; None while it was not.

        Unlike the model it knows of bad nodes, stragglers and whatever else is wrong with these very nodes.
        """
        times: list[float] = []
        for observation in reversed(self.observations):
            if observation.fleet != self.current or len(times) >= RECENT_STEP_TIMES:
                break
            facts = [f for f in observation.facts if is_usable(f, observation.at, self.settings)]
            of_all = [f for f in facts if f.world_size == self.current.size]
            sound = [f.iteration_time_s for f in of_all if f.iteration_time_s and 0 < f.iteration_time_s < math.inf]
            if sound:
                times.append(median(sound) - self._passing_s(of_all))
        return median(times) if times else None

    def _passing_s(self, facts: Sequence[Fact]) -> float:
        """By how many seconds ranks hold a step up whose share of the batch is far too large: it is being adapted."""
        if self.settings.batches is Batches.EQUAL:
            return 0.0
        work = [(f.tokens, f.compute_time_s) for f in facts if f.tokens and f.compute_time_s]
        even_s = sum(tokens for tokens, _ in work) / sum(tokens / seconds for tokens, seconds in work)
        return max(0.0, max(seconds for _, seconds in work) - SETTLED_IMBALANCE * even_s)

    @cached_property
    def barred(self) -> dict[str, Reason]:
        """Flavors that may not be started, with the reason."""
        reasons = {flavor: fault for flavor, fault in self.price_faults.items() if flavor in self.flavors}
        return {**reasons, **unavailable_reasons(self.flavors, self.limits, self.history, self.now)}

    @cached_property
    def bounds(self) -> Bounds:
        """What the limits leave. Of a flavor that is only unavailable for now, the nodes that run may stay."""
        caps: dict[str, int] = {}
        failed = failed_caps(self.history, self.now)
        for flavor in self.flavors:
            cap = min(node_cap(flavor, self.limits, self.settings), failed.get(flavor, sys.maxsize))
            if flavor in self.barred:
                is_only_unavailable = flavor not in self.price_faults and flavor not in self.limits.excluded
                cap = min(cap, self.current.count(flavor)) if is_only_unavailable else 0
            if cap:
                caps[flavor] = cap
        most = self.limits.max_nodes
        if most is None:
            most = max(UNBOUNDED, self.limits.min_nodes, 2 * self.current.size)
        return Bounds(caps, self.limits.min_nodes, most, self.limits.max_usd_per_hour)

    @property
    def remaining_steps(self) -> int | None:
        """Steps still to do; None while the progress is unknown."""
        return None if self.progress is None else self.progress.remaining_steps

    def model(self, speeds: Mapping[str, Speed] | None = None) -> FleetModel | None:
        """The model of fleets with these speeds (the measured ones unless told); None while the batch is unknown."""
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
        )

    @cached_property
    def bad_nodes(self) -> dict[str, dict[str, float]]:
        """Of each flavor the instances that run and are far slower, slowest first, with their share of its speed."""
        running = {fact.instance_id for present in self.observations[-1:] for fact in present.facts}
        found = {f: {n: s for n, s in speed.bad_nodes.items() if n in running} for f, speed in self.speeds.items()}
        return {f: dict(sorted(nodes.items(), key=lambda node: node[1])) for f, nodes in found.items() if nodes}

    def _named_bad_nodes(self) -> tuple[str, ...]:
        return tuple(node for nodes in self.bad_nodes.values() for node in nodes)

    def usd_per_million_tokens(self, flavor: str) -> float | None:
        """What a million tokens cost on a node of this flavor, the network left aside; None while unknown."""
        speed, price = self.speeds.get(flavor), self.usd_per_hour.get(flavor)
        if speed is None or price is None:
            return None
        return price / SECONDS_PER_HOUR / speed.tokens_per_s * TOKENS_PER_MILLION

    def flavor_estimates(self) -> tuple[FlavorEstimate, ...]:
        """What is known of each flavor, for the record."""
        return tuple(self._flavor_estimate(flavor) for flavor in self.flavors)

    def _flavor_estimate(self, flavor: str) -> FlavorEstimate:
        speed, price = self.speeds.get(flavor), self.usd_per_hour.get(flavor)
        barred = self.barred.get(flavor)
        return FlavorEstimate(
            flavor=flavor,
            usd_per_hour=price,
            tokens_per_s=speed.tokens_per_s if speed else None,
            tokens_per_s_low=speed.low if speed else None,
            tokens_per_s_high=speed.high if speed else None,
            compute_time_s=speed.compute_time_s if speed else None,
            usd_per_million_tokens=self.usd_per_million_tokens(flavor),
            observations=speed.steps if speed else 0,
            notes=(*([] if barred is None else [barred]), *(speed.notes if speed else [NotMeasured()])),
        )

    def decision(
        self,
        verdict: Verdict,
        reason: Reason,
        target: Fleet | None = None,
        fleets: tuple[FleetEstimate, ...] = (),
        saving_usd: float | None = None,
        switching_usd: float | None = None,
        is_probe: bool = False,
    ) -> Decision:
        """A decision in this situation; the target is the present fleet unless the verdict is a move."""
        return Decision(
            at=self.now,
            policy=self.settings.policy,
            verdict=verdict,
            current=self.current,
            target=target if target is not None and verdict is Verdict.MOVE else self.current,
            reason=reason,
            flavors=self.flavor_estimates() if self.settings.detailed else (),
            fleets=fleets,
            saving_usd=saving_usd,
            switching_usd=switching_usd,
            is_probe=is_probe,
            bad_nodes=self._named_bad_nodes() if self.settings.detailed or verdict is Verdict.MOVE else (),
        )


def _merged(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Oldest first, each moment once, and of each flavor and fleet size the latest: older ones would tell no more."""
    by_time = {observation.at: observation for observation in observations if math.isfinite(observation.at)}
    kept: list[Observation] = []
    seen: dict[tuple[str, int], int] = {}
    for at in sorted(by_time, reverse=True):
        observation = by_time[at]
        kinds = [(flavor, observation.fleet.size) for flavor in observation.fleet.present]
        if any(seen.get(kind, 0) < KEPT_OBSERVATIONS for kind in kinds):
            kept.append(observation)
            for kind in kinds:
                seen[kind] = seen.get(kind, 0) + 1
    return tuple(reversed(kept))


def assess(given: DecisionInput) -> Situation:
    """Works out the situation. Raises ValueError when there is no observation."""
    if not given.observations:
        raise ValueError("deciding needs at least one observation, the present one")
    present, settings = given.observations[-1], given.settings
    names = {*settings.flavors} if settings.flavors else {*given.prices}
    flavors = tuple(sorted(names | set(present.fleet.present)))
    sound, faults = usable_prices(flavors, given.prices, present.at, settings)
    return Situation(
        now=present.at,
        current=present.fleet,
        observations=_merged(given.observations),
        given_prices=given.prices,
        usd_per_hour=sound,
        price_faults=faults,
        limits=given.limits,
        progress=given.progress,
        history=given.history,
        settings=settings,
        flavors=flavors,
    )
