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


def head_price(prices: Mapping[str, Price], instance_type: str) -> Price | None:
    """Returns the price of the head, which is always bought on demand; None where it is unknown."""
    return prices.get(on_demand_name(instance_type), prices.get(instance_type))
