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
    """Under which name the on-demand price of a type stands beside that of the flavor, which is bought on spot."""
    return f"{instance_type} (on-demand)"


def head_price(prices: Mapping[str, Price], instance_type: str) -> Price | None:
    """What the head costs: it is bought on demand, also where a flavor of its type is not. None where unknown."""
    return prices.get(on_demand_name(instance_type), prices.get(instance_type))
