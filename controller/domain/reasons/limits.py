"""Reasons that are about limits: on fleets, on the nodes that a move exchanges, and on time and money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from controller.domain.fleet import Fleet
from controller.domain.reasons.base import Reason

# Why no fleet is allowed


@dataclass(frozen=True)
class MaxNodesBelowMinNodes(Reason):
    """No fleet is allowed: the limits on its size contradict each other."""

    code: ClassVar[str] = "max-nodes-below-min-nodes"
    max_nodes: int
    min_nodes: int


@dataclass(frozen=True)
class NoUsableFlavor(Reason):
    """No fleet is allowed: each flavor is excluded, unavailable, too small, without a price, or limited to 0 nodes."""

    code: ClassVar[str] = "no-usable-flavor"


@dataclass(frozen=True)
class FlavorLimitsTooLow(Reason):
    """No fleet is allowed: the limits of single flavors add up to fewer nodes than the least."""

    code: ClassVar[str] = "flavor-limits-too-low"
    min_nodes: int
    max_nodes: int
    """The sum of the limits."""
    max_nodes_per_flavor: Mapping[str, int]


@dataclass(frozen=True)
class HourlyLimitTooLow(Reason):
    """No fleet is allowed: the cheapest one costs more an hour than the limit."""

    code: ClassVar[str] = "hourly-limit-too-low"
    max_usd_per_hour: float
    nodes: int
    usd_per_hour: float
    """Of the cheapest fleet of so many nodes, head included."""


# Which limit a fleet breaks


@dataclass(frozen=True)
class TooFewNodes(Reason):
    """The fleet has fewer nodes than the least."""

    code: ClassVar[str] = "too-few-nodes"
    nodes: int
    min_nodes: int


@dataclass(frozen=True)
class TooManyNodes(Reason):
    """The fleet has more nodes than the most."""

    code: ClassVar[str] = "too-many-nodes"
    nodes: int
    max_nodes: int


@dataclass(frozen=True)
class TooManyNodesOfFlavor(Reason):
    """The fleet has more nodes of one flavor than are allowed."""

    code: ClassVar[str] = "too-many-nodes-of-flavor"
    flavor: str
    nodes: int
    max_nodes: int


@dataclass(frozen=True)
class TooExpensiveAnHour(Reason):
    """The fleet costs more an hour than the limit."""

    code: ClassVar[str] = "too-expensive-an-hour"
    usd_per_hour: float
    """Head included."""
    max_usd_per_hour: float


# How many nodes a move may exchange


@dataclass(frozen=True)
class FirstOfSeveralMoves(Reason):
    """The move goes a part of the way, because `max_surge` does not allow the whole at once."""

    code: ClassVar[str] = "first-of-several-moves"
    target: Fleet
    max_surge: int
    whole: Reason
    """Why the whole move is right."""


@dataclass(frozen=True)
class SurgeForbidsMove(Reason):
    """There is no move within `max_surge`: no node may be added first, and none may be ended first."""

    code: ClassVar[str] = "surge-forbids-move"
    max_surge: int
    whole: Reason
    """Why the move would be right."""


# What may run during a move


@dataclass(frozen=True)
class FirstWithinHourlyLimit(Reason):
    """The move goes a part of the way, because both fleets together would cost more an hour than the limit."""

    code: ClassVar[str] = "first-within-hourly-limit"
    target: Fleet
    max_usd_per_hour: float
    usd_per_hour: float
    """Of both fleets and the head, during the whole move."""
    whole: Reason
    """Why the whole move is right."""


@dataclass(frozen=True)
class HourlyLimitForbidsMove(Reason):
    """Both fleets together would cost more an hour than the limit, and no node may be ended first."""

    code: ClassVar[str] = "hourly-limit-forbids-move"
    max_usd_per_hour: float
    usd_per_hour: float
    """Of both fleets and the head, during the move."""
    whole: Reason
    """Why the move would be right."""


# Why the present fleet cannot stay


@dataclass(frozen=True, kw_only=True)
class Constrained(Reason):
    """A reason that may add which deadline or budget even the chosen fleet does not keep."""

    shortfall: Reason | None = None


@dataclass(frozen=True)
class BreaksLimit(Constrained):
    """The present fleet breaks a limit."""

    code: ClassVar[str] = "breaks-limit"
    fleet: Fleet
    limit: Reason


@dataclass(frozen=True)
class TooSlowForDeadline(Constrained):
    """The present fleet ends after the deadline."""

    code: ClassVar[str] = "too-slow-for-deadline"
    fleet: Fleet
    needed_s: float
    left_s: float
    """Until the deadline; negative after it."""


@dataclass(frozen=True)
class TooExpensiveForBudget(Constrained):
    """The present fleet needs more money than the budget leaves."""

    code: ClassVar[str] = "too-expensive-for-budget"
    fleet: Fleet
    needed_usd: float
    left_usd: float


# What no fleet keeps


@dataclass(frozen=True)
class DeadlineOutOfReach(Reason):
    """Even the fastest allowed fleet ends after the deadline."""

    code: ClassVar[str] = "deadline-out-of-reach"
    fastest: Fleet
    needed_s: float
    left_s: float
    """Until the deadline; negative after it."""


@dataclass(frozen=True)
class BudgetOutOfReach(Reason):
    """Even the cheapest allowed fleet needs more money than the budget leaves."""

    code: ClassVar[str] = "budget-out-of-reach"
    cheapest: Fleet
    needed_usd: float
    left_usd: float


@dataclass(frozen=True)
class DeadlineAndBudgetOutOfReach(Reason):
    """Deadline and budget can each be kept, but no fleet keeps both."""

    code: ClassVar[str] = "deadline-and-budget-out-of-reach"
