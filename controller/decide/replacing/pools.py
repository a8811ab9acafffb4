"""Choosing nodes from pools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from controller.domain import Fleet
from controller.domain.observed.spot import Noticed

RECENT_S = 600.0
"""For how long a pool that took a node back comes after the others."""


@dataclass(frozen=True)
class Pool:
    """A flavor that may replace nodes.

    Attributes:
        flavor: The flavor.
        room: How many more of its nodes the limits allow.
        usd_per_hour: What one node costs.
        cost: What its work costs, its expected interruptions included: US dollars per million tokens, or where no speed
            is known, per hour and vCPU.
        is_measured: Whether its speed is known.
        is_recent: Whether a node of it was taken back a short while ago.
    """

    flavor: str
    room: int
    usd_per_hour: float
    cost: float
    is_measured: bool = True
    is_recent: bool = False


def chosen(pools: Iterable[Pool], count: int, room_usd_per_hour: float | None = None) -> Fleet:
    """Returns at most so many nodes, from the best pools first.

    A pool that has lost a node a short while ago comes after the others, so that nodes don't follow a pool's notices
    to and fro.

    Args:
        pools: What there is to choose from.
        count: How many nodes are wanted.
        room_usd_per_hour: What they may cost an hour; None is no limit.
    """
    nodes: dict[str, int] = {}
    left_usd = room_usd_per_hour
    for pool in sorted(pools, key=_worth):
        most = min(pool.room, count - sum(nodes.values()))
        if left_usd is not None:
            most = min(most, int(left_usd / pool.usd_per_hour))
            left_usd -= max(0, most) * pool.usd_per_hour
        if most > 0:
            nodes[pool.flavor] = most
    return Fleet(nodes)


def recent(noticed: Iterable[Noticed], now: float) -> frozenset[str]:
    """Returns the flavors of which a node was taken back, or may be soon, a short while ago."""
    return frozenset(one.flavor for one in noticed if now - one.at < RECENT_S)


def _worth(pool: Pool) -> tuple[Any, ...]:
    return (pool.is_recent, not pool.is_measured, pool.cost, pool.flavor)
