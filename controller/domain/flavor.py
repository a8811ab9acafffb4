"""An EC2 instance type, as it may be used."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Market(str, Enum):
    """How an instance is bought."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


@dataclass(frozen=True)
class Flavor:
    """An EC2 instance type as it may be used here. What is not known of the hardware is None."""

    name: str
    market: Market = Market.ON_DEMAND
    max_nodes: int | None = None
    vcpus: int | None = None
    memory_bytes: int | None = None
    burstable: bool = False
    baseline_share: float | None = None
    """Of a burstable flavor: the share of its full speed that it sustains without credits, 0 to 1."""
