"""What a cluster is paid for, and what that costs.

Nodes are lines by the name of their flavor; no flavor is named as one of the other lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HEAD, VOLUMES, GATEWAYS, ADDRESSES = "head, ", "volumes", "NAT gateways", "public IPv4 addresses"
"""The line of the head goes on with its instance type."""
SURPLUS = "surplus CPU credits"
ZONES = "traffic between zones"
TRAFFIC = "NAT gateway traffic"
NOT_ITEMISED = "not itemised"
"""What older versions have kept as a sum only."""


@dataclass(frozen=True)
class Metered:
    """What a look finds to pay for.

    Attributes:
        usd_per_hour: By line what is paid an hour from now on.
        unseen_usd: By line what was paid since the last look for what was started after it.
        so_far_usd: By line what was paid since the run began, for what has no price an hour.
    """

    usd_per_hour: Mapping[str, float]
    unseen_usd: Mapping[str, float] = field(default_factory=dict)
    so_far_usd: Mapping[str, float] = field(default_factory=dict)

    @property
    def total_usd_per_hour(self) -> float:
        """All lines together, US dollars an hour."""
        return sum(self.usd_per_hour.values())


NO_LINES = Metered({})
