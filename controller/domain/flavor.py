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
    launch_credits: float | None = None
    """The CPU credits of a fresh node. A credit is one vCPU at full speed for a minute. None: unknown."""
    is_unlimited: bool = False
    """Whether a burstable node pays for surplus credits when its own are spent, and so keeps its full speed."""
    surplus_usd_per_vcpu_hour: float = 0.0
    """What a vCPU-hour beyond the baseline costs then."""

    @property
    def slows_down(self) -> bool:
        """Whether a node is known to fall to its baseline when its CPU credits are spent."""
        return self.burstable and bool(self.baseline_share) and not self.is_unlimited

    @property
    def sustained_share(self) -> float:
        """The share of its full speed that a node keeps for ever, 0 to 1; 1 where it is not known to slow down."""
        return self.baseline_share or 1.0 if self.slows_down else 1.0

    @property
    def surplus_usd_per_hour(self) -> float:
        """What surplus credits cost an hour while all vCPUs of a node work; 0 where it pays for none."""
        if not (self.burstable and self.is_unlimited and self.baseline_share and self.vcpus):
            return 0.0
        return self.surplus_usd_per_vcpu_hour * self.vcpus * (1 - self.baseline_share)

    def burst_s(self, credits: float) -> float | None:
        """Returns how many seconds a node runs at full speed on so many credits, while it goes on to earn some.

        It spends 60 credits an hour for each vCPU and earns the baseline's share of them (EC2 User Guide, "Key concepts
        and definitions for burstable performance instances"). None where vCPUs or baseline are unknown.
        """
        if not self.vcpus or not self.baseline_share or self.baseline_share >= 1:
            return None
        return 60.0 * credits / (self.vcpus * (1 - self.baseline_share))
