"""The model of a fleet: a step takes T = B / S + t_comm(N), and costs the fleet's price times T.

Where nodes are in several availability zones, the traffic between them is paid by the byte, whatever T is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.decide.model.traffic import FREE, Traffic
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
    traffic: Traffic = FREE

    def with_speeds(self, tokens_per_s: Mapping[str, float]) -> FleetModel:
        """Returns the model with some flavors at these speeds."""
        return replace(self, tokens_per_s={**self.tokens_per_s, **tokens_per_s})

    def speed(self, fleet: Mapping[str, int]) -> float:
        """Returns the fleet's tokens per second of compute. With equal batches the slowest flavor sets the pace.

        Raises KeyError for a flavor of unknown speed.
        """
        present = {flavor: count for flavor, count in fleet.items() if count}
        if self.batches is Batches.EQUAL:
            return sum(present.values()) * min(self.tokens_per_s[f] for f in present) if present else 0.0
        return sum(count * self.tokens_per_s[flavor] for flavor, count in present.items())

    def step_time_s(self, fleet: Mapping[str, int]) -> float:
        """Returns the seconds of a step; inf for no node.

        They are B / S + t_comm(N), and with equal batches max_f(b / s_f) + t_comm(N).
        """
        size = sum(fleet.values())
        if not size:
            return math.inf
        return self.tokens_per_step / self.speed(fleet) + self.communication_s(size)

    def fleet_usd_per_hour(self, fleet: Mapping[str, int]) -> float:
        """Returns the dollars an hour of the fleet and the head. Raises KeyError for a flavor without a price."""
        nodes = sum(count * self.usd_per_hour[flavor] for flavor, count in fleet.items() if count)
        return nodes + self.head_usd_per_hour

    def usd_per_step(self, fleet: Mapping[str, int]) -> float:
        """Returns the dollars of a step, the head and the traffic between zones included."""
        of_nodes = self.fleet_usd_per_hour(fleet) / SECONDS_PER_HOUR * self.step_time_s(fleet)
        return of_nodes + self.traffic.usd_of(fleet)

    def usd_per_token(self, fleet: Mapping[str, int]) -> float:
        """Returns J = (sum(n_f p_f) T / 3600 + traffic) / B, the head included."""
        return self.usd_per_step(fleet) / self.tokens_per_step

    def knows(self, fleet: Mapping[str, int]) -> bool:
        """Tells whether each flavor of the fleet has a speed and a price, and there is a node."""
        present = [flavor for flavor, count in fleet.items() if count]
        return bool(present) and all(f in self.tokens_per_s and f in self.usd_per_hour for f in present)

    def log_cost_gradient(self, fleet: Mapping[str, int]) -> dict[str, float]:
        """Returns d ln J / d ln s_f of each flavor: minus its share of the fleet's compute in a step's time.

        J is without the traffic between zones, so that this is d ln T / d ln s_f as well.
        """
        step_s, speed = self.step_time_s(fleet), self.speed(fleet)
        compute_share = self.tokens_per_step / speed / step_s
        present = {flavor: count for flavor, count in fleet.items() if count}
        if self.batches is Batches.EQUAL:
            slowest = min(present, key=lambda f: self.tokens_per_s[f])
            return {slowest: -compute_share}
        return {f: -compute_share * count * self.tokens_per_s[f] / speed for f, count in present.items()}

    def log_cost_difference_se(self, fleet: Mapping[str, int], other: Mapping[str, int]) -> float:
        """Returns the standard error of ln J(fleet) - ln J(other) by the delta method. Flavors of both count once."""
        first, second = self.log_cost_gradient(fleet), self.log_cost_gradient(other)
        of_first, of_second = self._share_of_time(fleet), self._share_of_time(other)
        return math.sqrt(
            sum(
                ((first.get(f, 0.0) * of_first - second.get(f, 0.0) * of_second) * self.log_se.get(f, 0.0)) ** 2
                for f in {*first, *second}
            )
        )

    def _share_of_time(self, fleet: Mapping[str, int]) -> float:
        """Returns the share of a step's cost that is paid for its time; the rest is traffic between zones."""
        traffic_usd = self.traffic.usd_of(fleet)
        return 1 - traffic_usd / self.usd_per_step(fleet) if traffic_usd else 1.0

    def estimate(self, fleet: Fleet, remaining_steps: int | None = None, held_up_s: float = 0.0) -> FleetEstimate:
        """Returns the fleet's numbers, each step longer by `held_up_s`; None where a speed or a price is unknown."""
        if not self.knows(fleet):
            return FleetEstimate(fleet, None, None, None, None)
        step_s = self.step_time_s(fleet) + held_up_s
        traffic_usd_per_hour = self.traffic.usd_of(fleet) / step_s * SECONDS_PER_HOUR
        usd_per_hour = self.fleet_usd_per_hour(fleet) + traffic_usd_per_hour
        remaining_s = None if remaining_steps is None else remaining_steps * step_s
        return FleetEstimate(
            fleet=fleet,
            step_time_s=step_s,
            tokens_per_s=self.tokens_per_step / step_s,
            usd_per_hour=usd_per_hour,
            usd_per_million_tokens=usd_per_million_tokens(usd_per_hour, self.tokens_per_step / step_s),
            remaining_s=remaining_s,
            remaining_usd=None if remaining_s is None else remaining_s * usd_per_hour / SECONDS_PER_HOUR,
            traffic_usd_per_hour=traffic_usd_per_hour,
        )
