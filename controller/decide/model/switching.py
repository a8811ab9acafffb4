"""The cost of a move from one fleet to another."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.settings import SwitchingAssumptions
from controller.domain import SECONDS_PER_HOUR, Fleet


def switching_usd(
    current: Fleet,
    target: Fleet,
    usd_per_hour: Mapping[str, float],
    head_usd_per_hour: float,
    assumptions: SwitchingAssumptions,
) -> float:
    """Returns the dollars of a move beyond the cost of training meanwhile.

    New nodes are paid for while they boot and are configured. All nodes are paid for and stand still during the join
    and during the leave. Nodes that leave are paid for while they drain. A flavor without a price counts as free.
    """
    price = {flavor: usd_per_hour.get(flavor, 0.0) for flavor in {*current, *target}}
    union = current.union(target)
    added, removed = target.beyond(current).usd_per_hour(price), current.beyond(target).usd_per_hour(price)
    pauses = (added > 0) + (removed > 0)
    standing = (union.usd_per_hour(price) + head_usd_per_hour) * assumptions.pause_s * pauses
    return (added * assumptions.grow_s + removed * assumptions.drain_s + standing) / SECONDS_PER_HOUR
