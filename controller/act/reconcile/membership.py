"""Which nodes take part: who stays, and who comes. Counts by flavor decide, never names that were remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from controller.act.reconcile.seen import Seen, SeenNode, Standing, fleet_of
from controller.domain import Fleet

_READINESS = (
    Standing.WARM,
    Standing.STARTING,
    Standing.COLD,
    Standing.TRAINS_OTHERWISE,
    Standing.ENDED,
    Standing.SILENT,
    Standing.PENDING,
)
"""The standings of nodes that take no part, the readiest first."""


def newcomers(target: Fleet, seen: Seen) -> tuple[SeenNode, ...]:
    """Returns the nodes that fill the target up beside the members that last, the readiest of each flavor."""
    lasting = fleet_of(node for node in seen.members if not node.is_doomed)
    return _best(target.beyond(lasting), seen.strangers, key=_readiness)


def staying(target: Fleet, seen: Seen) -> tuple[SeenNode, ...]:
    """Returns the members that stay where the target is all that is wanted.

    Of each flavor the surplus over the target leaves. The ranks that train stay before those of which nothing is known,
    the nodes that a decision wants to lose leave before others, and the highest ranks leave first, so that rank 0 stays
    where it can. Members that EC2 takes back stay until the target trains without them. Every member stays as long as
    no rank that stays is known to hold the training's parameters.
    """
    doomed = tuple(node for node in seen.members if node.is_doomed)
    stay = _best(target, [node for node in seen.members if not node.is_doomed], key=_worth)
    trains = fleet_of(node for node in stay if node.standing is Standing.TRAINS)
    if doomed and target.beyond(trains).size:
        stay = (*stay, *doomed)
    return stay if any(node.standing.holds_state for node in stay) else seen.members


def rescued(seen: Seen) -> tuple[SeenNode, ...]:
    """Returns the nodes that have to stay or come back, since they alone hold the training's parameters.

    They were taken out and still train, and of what takes part nothing is known to train any more.
    """
    is_held = any(node.standing.holds_state for node in seen.members)
    return () if is_held else tuple(n for n in seen.nodes if n.standing.holds_state and not _takes_part(n))


def leaving(target: Fleet, seen: Seen) -> tuple[SeenNode, ...]:
    """Returns the nodes that take no part and that the target has no room for."""
    kept = {node.instance_id for node in newcomers(target, seen)}
    return tuple(node for node in seen.nodes if not _takes_part(node) and node.instance_id not in kept)


def _takes_part(node: SeenNode) -> bool:
    return node.is_member and not node.is_dropped


def _readiness(node: SeenNode) -> tuple[Any, ...]:
    is_known = node.standing in _READINESS
    standing = _READINESS.index(node.standing) if is_known else len(_READINESS)
    return (node.is_doomed, standing, node.leaves_first, node.instance_id)


def _worth(node: SeenNode) -> tuple[Any, ...]:
    is_unranked = node.rank is None
    return (not node.standing.holds_state, node.leaves_first, is_unranked, node.rank or 0, node.instance_id)


def _best(fleet: Fleet, nodes: Sequence[SeenNode], key: Callable[[SeenNode], tuple[Any, ...]]) -> tuple[SeenNode, ...]:
    """Returns of each flavor as many of the nodes as the fleet has, the first ones by `key`."""
    chosen: list[SeenNode] = []
    for flavor, count in fleet.present.items():
        chosen += sorted((node for node in nodes if node.flavor == flavor), key=key)[:count]
    return tuple(chosen)
