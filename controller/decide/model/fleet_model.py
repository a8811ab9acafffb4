"""What a fleet is expected to do and to cost: T = B / S + t_comm(N), and dollars per token of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.domain import SECONDS_PER_HOUR, Fleet, FleetEstimate
from controller.domain.batches import Batches
from controller.domain.units import usd_per_million_tokens


@dataclass(frozen=True)
class FleetModel:
    """Speeds, prices and communication of a training whose steps have `tokens_per_step` target tokens."""

    tokens_per_s: Mapping[str, float]
    usd_per_hour: Mapping[str, float]
    tokens_per_step: float
    communication_s: Callable[[int], float]
    head_usd_per_hour: float = 0.0
    batches: Batches = Batches.BALANCED
    log_se: Mapping[str, float] = field(default_factory=dict)

    def with_speeds(self, tokens_per_s: Mapping[str, float]) -> FleetModel:
        """The model with some flavors at these speeds."""
        return replace(self, tokens_per_s={**self.tokens_per_s, **tokens_per_s})

    def speed(self, fleet: Mapping[str, int]) -> float:
        """Tokens per second of compute of the whole fleet (with equal batches: as the slowest flavor lets it).

        Raises KeyError for a flavor of unknown speed.
        """
        present = {flavor: count for flavor, count in fleet.items() if count}
        if self.batches is Batches.EQUAL:
            return sum(present.values()) * min(self.tokens_per_s[f] for f in present) if present else 0.0
        return sum(count * self.tokens_per_s[flavor] for flavor, count in present.items())

    def step_time_s(self, fleet: Mapping[str, int]) -> float:
        """Seconds of a step: B / S + t_comm(N), or max_f(b / s_f) + t_comm(N) with equal batches; inf for no nodes."""
        size = sum(fleet.values())
        if not size:
            return math.inf
        return self.tokens_per_step / self.speed(fleet) + self.communication_s(size)

    def fleet_usd_per_hour(self, fleet: Mapping[str, int]) -> float:
        """Dollars an hour of the fleet and the head. Raises KeyError for a flavor without a price."""
        nodes = sum(count * self.usd_per_hour[flavor] for flavor, count in fleet.items() if count)
        return nodes + self.head_usd_per_hour

    def usd_per_step(self, fleet: Mapping[str, int]) -> float:
        """Dollars of a step, the head included."""
        return self.fleet_usd_per_hour(fleet) / SECONDS_PER_HOUR * self.step_time_s(fleet)

    def usd_per_token(self, fleet: Mapping[str, int]) -> float:
        """J = sum(n_f p_f) T / (3600 B), the head included."""
        return self.usd_per_step(fleet) / self.tokens_per_step

    def knows(self, fleet: Mapping[str, int]) -> bool:
        """Whether each flavor of the fleet has a speed and a price, and there is a node."""
        present = [flavor for flavor, count in fleet.items() if count]
        return bool(present) and all(f in self.tokens_per_s and f in self.usd_per_hour for f in present)

    def log_cost_gradient(self, fleet: Mapping[str, int]) -> dict[str, float]:
        """d ln J / d ln s_f for each flavor of the fleet: minus its share of the fleet's compute in a step's time."""
        step_s, speed = self.step_time_s(fleet), self.speed(fleet)
        compute_share = self.tokens_per_step / speed / step_s
        present = {flavor: count for flavor, count in fleet.items() if count}
        if self.batches is Batches.EQUAL:
            slowest = min(present, key=lambda f: self.tokens_per_s[f])
            return {slowest: -compute_share}
        return {f: -compute_share * count * self.tokens_per_s[f] / speed for f, count in present.items()}

    def log_cost_difference_se(self, fleet: Mapping[str, int], other: Mapping[str, int]) -> float:
        """Standard error of ln J(fleet) - ln J(other), flavors that both have counted once (delta method)."""
        first, second = self.log_cost_gradient(fleet), self.log_cost_gradient(other)
        return math.sqrt(
            sum(((first.get(f, 0.0) - second.get(f, 0.0)) * self.log_se.get(f, 0.0)) ** 2 for f in {*first, *second})
        )

    def estimate(self, fleet: Fleet, remaining_steps: int | None = None, held_up_s: float = 0.0) -> FleetEstimate:
        """The fleet's numbers, with `held_up_s` more for each step; None where a speed or a price in it is unknown."""
        if not self.knows(fleet):
            return FleetEstimate(fleet, None, None, None, None)
        step_s, usd_per_hour = self.step_time_s(fleet) + held_up_s, self.fleet_usd_per_hour(fleet)
        remaining_s = None if remaining_steps is None else remaining_steps * step_s
        return FleetEstimate(
            fleet=fleet,
            step_time_s=step_s,
            tokens_per_s=self.tokens_per_step / step_s,
            usd_per_hour=usd_per_hour,
            usd_per_million_tokens=usd_per_million_tokens(usd_per_hour, self.tokens_per_step / step_s),
            remaining_s=remaining_s,
            remaining_usd=None if remaining_s is None else remaining_s * usd_per_hour / SECONDS_PER_HOUR,
        )
