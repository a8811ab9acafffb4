"""What the limits leave of all fleets, and which limit binds where they leave none."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from controller.decide.limits.bounds import SLACK, Bounds
from controller.decide.settings import DecideSettings
from controller.domain import Fleet, History, Limits, MovePhase
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import Excluded, UnavailableForNow
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

UNBOUNDED = 1000
"""The most nodes, of a flavor and in all, where no limit says anything: beyond that, say so."""
FAILURE_MEMORY_S = 3600.0


def unavailable_reasons(flavors: tuple[str, ...], limits: Limits, history: History, now: float) -> dict[str, Reason]:
    """Flavors that may not be used at the moment, with the reason."""
    reasons: dict[str, Reason] = {}
    for flavor in flavors:
        if flavor in limits.excluded:
            reasons[flavor] = Excluded(limits.excluded[flavor])
        elif history.unavailable.get(flavor, now) > now:
            reasons[flavor] = UnavailableForNow(history.unavailable[flavor] - now)
    return reasons


def failed_caps(history: History, now: float) -> dict[str, int]:
    """The most nodes of flavors that could not be had in that number: half of what was asked for in addition.

    Each further failure doubles the time for which that is kept in mind.
    """
    caps: dict[str, int] = {}
    failures: dict[str, int] = {}
    for move in history.moves:
        if move.phase is not MovePhase.ROLLED_BACK:
            continue
        grown = [f for f in move.target if move.target.count(f) > move.source.count(f)]
        for flavor in [f for f in grown if f in history.unavailable] or grown:
            failures[flavor] = failures.get(flavor, 0) + 1
            had = move.source.count(flavor)
            until = (move.ended_at or move.at) + FAILURE_MEMORY_S * 2 ** failures[flavor]
            if until > now:
                caps[flavor] = min(had + (move.target.count(flavor) - had) // 2, caps.get(flavor, sys.maxsize))
    return caps


def node_cap(flavor: str, limits: Limits, settings: DecideSettings) -> int:
    """The most nodes of a flavor that node limits and its vCPU limit allow."""
    known = settings.flavors.get(flavor)
    caps = [max(UNBOUNDED, limits.min_nodes) if limits.max_nodes is None else limits.max_nodes]
    if known is not None and known.max_nodes is not None:
        caps.append(known.max_nodes)
    if flavor in limits.max_nodes_per_flavor:
        caps.append(limits.max_nodes_per_flavor[flavor])
    if flavor in limits.max_vcpus_per_flavor and known is not None and known.vcpus:
        caps.append(limits.max_vcpus_per_flavor[flavor] // known.vcpus)
    return max(0, min(caps))


def infeasible_reason(bounds: Bounds, usd_per_hour: Mapping[str, float], head_usd_per_hour: float) -> Reason | None:
    """Which limit leaves no fleet at all; None where there is one. Deadline and budget are not looked at here."""
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
    """What the cheapest fleet of so many nodes costs."""
    total = 0.0
    for flavor in sorted(caps, key=lambda f: usd_per_hour[f]):
        taken = min(nodes, caps[flavor])
        total, nodes = total + taken * usd_per_hour[flavor], nodes - taken
    return total


def violation(
    fleet: Fleet, bounds: Bounds, usd_per_hour: Mapping[str, float], head_usd_per_hour: float
) -> Reason | None:
    """Which limit a fleet breaks; None where it keeps them all. Deadline and budget are not looked at here."""
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
