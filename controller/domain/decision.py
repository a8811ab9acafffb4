"""What to do, and on what evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason


class Verdict(str, Enum):
    """What a decision comes to."""

    MOVE = "move"
    STAY = "stay"
    REFUSE = "refuse"


@dataclass(frozen=True)
class FleetEstimate:
    """What the model expects of one fleet. None where a speed or a price in it is unknown."""

    fleet: Fleet
    step_time_s: float | None
    tokens_per_s: float | None
    usd_per_hour: float | None
    usd_per_million_tokens: float | None
    remaining_s: float | None = None
    remaining_usd: float | None = None
    traffic_usd_per_hour: float = 0.0
    """What `usd_per_hour` has for traffic between availability zones."""


@dataclass(frozen=True)
class FlavorEstimate:
    """What is known of one flavor: price, speed with its interval, and cost."""

    flavor: str
    usd_per_hour: float | None
    tokens_per_s: float | None
    tokens_per_s_low: float | None = None
    tokens_per_s_high: float | None = None
    compute_time_s: float | None = None
    usd_per_million_tokens: float | None = None
    observations: int = 0
    """How many steps were measured."""
    notes: tuple[Reason, ...] = ()
    """Why the flavor is not considered, and how its speed is known."""
    full_tokens_per_s: float | None = None
    """The speed of its nodes while they have CPU credits; None where it is the same."""


@dataclass(frozen=True)
class Risk:
    """How sure a decision is, by the spread of speeds, spot prices and switches."""

    rival: Fleet | None = None
    """The other fleet that is the most likely to be better; None where there is none."""
    chance_wrong: float | None = None
    """The chance that the rival is better, 0 to 1."""
    wrong_usd: float | None = None
    """How much less the rival then costs, on average; None where the objective is time."""
    wrong_s: float | None = None
    """How much sooner the rival then ends, on average; None where the objective is cost."""
    chance_kept: float | None = None
    """The chance that deadline and budget are kept, 0 to 1; None without either."""


@dataclass(frozen=True)
class Decision:
    """What to do, why, and on what evidence. `target` equals `current` unless the verdict is a move."""

    at: float
    policy: str
    verdict: Verdict
    current: Fleet
    target: Fleet
    reason: Reason
    flavors: tuple[FlavorEstimate, ...] = ()
    fleets: tuple[FleetEstimate, ...] = ()
    """The fleets that were compared: the current one first, then the best, then the runners-up."""
    saving_usd: float | None = None
    """Expected on the remaining work, the cost of switching taken off."""
    switching_usd: float | None = None
    is_probe: bool = False
    scaling: tuple[FleetEstimate, ...] = ()
    """The target's flavors at other world sizes: what more nodes would gain."""
    bad_nodes: tuple[str, ...] = ()
    """Instances far slower than their flavor: of a flavor that shrinks, these should be drained first."""
    risk: Risk | None = None
    """How sure the decision is; None where nothing was compared."""
