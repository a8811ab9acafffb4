"""Which limit a fleet breaks, and which limit leaves no fleet at all. Deadline and budget are not looked at here."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.limits.bounds import SLACK, Bounds
from controller.domain import Fleet
from controller.domain.reasons import Reason
from controller.domain.reasons.limits import (
    FlavorLimitsTooLow,
    HourlyLimitTooLow,
    MaxNodesBelowMinNodes,
    NoUsableFlavor,
    TooExpensiveAnHour,
    TooFewNodes,
    TooManyNodes,
    TooManyNodesOfFlavor,
)


def infeasible_reason(bounds: Bounds, usd_per_hour: Mapping[str, float], head_usd_per_hour: float) -> Reason | None:
    """Returns which limit leaves no fleet at all; None where there is a fleet."""
    least = max(1, bounds.min_nodes)
    if bounds.max_nodes is not None and bounds.max_nodes < least:
        return MaxNodesBelowMinNodes(bounds.max_nodes, least)
    room = sum(bounds.caps.values())
    if not room:
        return NoUsableFlavor()
    if room < least:
        return FlavorLimitsTooLow(least, room, {flavor: cap for flavor, cap in bounds.caps.items() if cap})
    if bounds.max_usd_per_hour is not None:
        cheapest = head_usd_per_hour + _least_usd_per_hour(bounds.caps, usd_per_hour, least)
        if cheapest > bounds.max_usd_per_hour * (1 + SLACK):
            return HourlyLimitTooLow(bounds.max_usd_per_hour, least, cheapest)
    return None


def _least_usd_per_hour(caps: Mapping[str, int], usd_per_hour: Mapping[str, float], nodes: int) -> float:
    """Returns the dollars an hour of the cheapest fleet of so many nodes."""
    total = 0.0
    for flavor in sorted(caps, key=lambda f: usd_per_hour[f]):
        taken = min(nodes, caps[flavor])
        total, nodes = total + taken * usd_per_hour[flavor], nodes - taken
    return total


def violation(
    fleet: Fleet, bounds: Bounds, usd_per_hour: Mapping[str, float], head_usd_per_hour: float
) -> Reason | None:
    """Returns which limit a fleet breaks; None where it keeps them all."""
    if fleet.size < max(1, bounds.min_nodes):
        return TooFewNodes(fleet.size, bounds.min_nodes)
    if bounds.max_nodes is not None and fleet.size > bounds.max_nodes:
        return TooManyNodes(fleet.size, bounds.max_nodes)
    for flavor, count in fleet.present.items():
        if count > bounds.caps.get(flavor, 0):
            return TooManyNodesOfFlavor(flavor, count, bounds.caps.get(flavor, 0))
    if bounds.max_usd_per_hour is not None and all(f in usd_per_hour for f in fleet.present):
        cost = fleet.usd_per_hour(usd_per_hour) + head_usd_per_hour
        if cost > bounds.max_usd_per_hour * (1 + SLACK):
            return TooExpensiveAnHour(cost, bounds.max_usd_per_hour)
    return None
