"""The most nodes of each flavor that may be used, and why some flavors may not be used at all."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Container
from itertools import pairwise

from controller.decide.settings import DecideSettings
from controller.domain import History, Limits, Move, MovePhase
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import Excluded, FlavorsNotObtained, UnavailableForNow

UNBOUNDED = 1000
"""The most nodes, of a flavor and in all, where no limit is set."""
FAILURE_MEMORY_S = 3600.0


def unavailable_reasons(flavors: tuple[str, ...], limits: Limits, history: History, now: float) -> dict[str, Reason]:
    """Returns the flavors that may not be used at the moment, each with the reason."""
    reasons: dict[str, Reason] = {}
    for flavor in flavors:
        if flavor in limits.excluded:
            reasons[flavor] = Excluded(limits.excluded[flavor])
        elif history.unavailable.get(flavor, now) > now:
            reasons[flavor] = UnavailableForNow(history.unavailable[flavor] - now)
    return reasons


def failed_caps(history: History, now: float) -> dict[str, int]:
    """Returns the most nodes of flavors whose growth failed: half of the nodes that the failed move wanted to add.

    Each further failure of a flavor doubles the time for which this holds.
    """
    caps: dict[str, int] = {}
    failures = Counter[str]()
    for move in history.moves:
        if move.phase is not MovePhase.ROLLED_BACK:
            continue
        for flavor in _not_obtained(move, history):
            failures[flavor] += 1
            had = move.source.count(flavor)
            if _is_remembered(move.changed_at, failures[flavor], now):
                caps[flavor] = min(had + (move.target.count(flavor) - had) // 2, caps.get(flavor, sys.maxsize))
    return caps


def fruitless(history: History, measured: Container[str], now: float) -> set[str]:
    """Returns the flavors whose last probe has ended without a measurement, and that are not tried again for now.

    Each further probe of that kind doubles the time for which this holds.
    """
    found, failures = set[str](), Counter[str]()
    for move, following in pairwise(history.moves):
        if move.is_probe and move.phase is MovePhase.DONE:
            silent = {f for f in move.target.beyond(move.source) if f not in measured and not following.target.count(f)}
            failures.update(silent)
            found |= {f for f in silent if _is_remembered(following.at, failures[f], now)}
    return found


def _is_remembered(failed_at: float, failures: int, now: float) -> bool:
    """Tells whether a failure still counts: the more there were, the longer."""
    return failed_at + FAILURE_MEMORY_S * 2.0**failures > now


def _not_obtained(move: Move, history: History) -> list[str]:
    """Returns the flavors because of which a move failed: those that it names, or else that were unavailable since."""
    grown = [*move.target.beyond(move.source)]
    if isinstance(move.outcome_reason, FlavorsNotObtained):
        return [flavor for flavor in grown if flavor in move.outcome_reason.flavors] or grown
    return [flavor for flavor in grown if flavor in history.unavailable] or grown


def node_cap(flavor: str, limits: Limits, settings: DecideSettings) -> int:
    """Returns the most nodes of a flavor that the limits on nodes and vCPUs allow."""
    known = settings.flavors.get(flavor)
    caps = [max(UNBOUNDED, limits.min_nodes) if limits.max_nodes is None else limits.max_nodes]
    if known is not None and known.max_nodes is not None:
        caps.append(known.max_nodes)
    if flavor in limits.max_nodes_per_flavor:
        caps.append(limits.max_nodes_per_flavor[flavor])
    if flavor in limits.max_vcpus_per_flavor and known is not None and known.vcpus:
        caps.append(limits.max_vcpus_per_flavor[flavor] // known.vcpus)
    return max(0, min(caps))
