"""What flavors and the head cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """What a flavor costs, and where that was learned."""

    flavor: str
    usd_per_hour: float
    source: str = "file"
    fetched_at: float | None = None
    interruptions_per_hour: float = 0.0
    """Expected spot interruptions of one node in an hour; 0 on demand."""


def on_demand_name(instance_type: str) -> str:
    """Returns the name of the on-demand price of an instance type.

    The price of a flavor has the name of its instance type. Where the flavor is bought on spot, a head of the same type
    needs this second price.
    """
    return f"{instance_type} (on-demand)"


def floor_name(instance_type: str) -> str:
    """Returns the name of the price of those nodes of a spot flavor that are bought on demand, volume included."""
    return f"{instance_type} (on-demand node)"


def node_price(prices: Mapping[str, Price], instance_type: str, *, is_on_spot: bool) -> Price | None:
    """Returns the price of a node as it was bought; None where the flavor has no price.

    Where the on-demand price of a spot flavor is unknown, the flavor's price counts.
    """
    on_demand = None if is_on_spot else prices.get(floor_name(instance_type))
    return on_demand or prices.get(instance_type)


def floors_usd_per_hour(fleet: Mapping[str, int], floors: Mapping[str, int], prices: Mapping[str, Price]) -> float:
    """Returns how much a fleet costs an hour above the prices of its flavors, for its nodes that are bought on demand.

    Args:
        fleet: The nodes of each flavor.
        floors: By spot flavor how many of its nodes are bought on demand before any is bought on spot.
        prices: The prices, those of `floor_name` among them.
    """
    total = 0.0
    for flavor, base in floors.items():
        on_demand, spot = prices.get(floor_name(flavor)), prices.get(flavor)
        if on_demand is not None and spot is not None:
            total += min(base, fleet.get(flavor, 0)) * (on_demand.usd_per_hour - spot.usd_per_hour)
    return total


def head_price(prices: Mapping[str, Price], instance_type: str) -> Price | None:
    """Returns the price of the head, which is always bought on demand; None where it is unknown."""
    return prices.get(on_demand_name(instance_type), prices.get(instance_type))
