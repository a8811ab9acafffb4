"""What the traffic between availability zones is expected to cost on each fleet.

All groups span the same zones and spread their nodes over them evenly (Amazon EC2 Auto Scaling User Guide,
"Availability Zone distribution"). So it depends on the number of nodes alone. Fleets of several flavors may spread less
evenly, and then cost less. The zones of the nodes that run are known. Since no spread costs more than the even one, the
fleet that runs never costs more than another of its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from controller.decide.settings import DecideSettings
from controller.domain import NO_NODES, Fleet, Observation
from controller.domain.prices.traffic import BYTES_PER_GB, even_squares, expected_bytes, squares_of


@dataclass(frozen=True)
class Traffic:
    """What the gradients of a step cost that cross zones.

    Attributes:
        usd: Dollars for as many crossing bytes as the gradients of one rank have.
        zones: How many zones fleets spread over.
        present: The fleet that runs; no nodes where the zones of some are not known.
        squares: The sum over the zones of the square of its nodes.
    """

    usd: float = 0.0
    zones: int = 1
    present: Fleet = NO_NODES
    squares: float = 0.0

    @property
    def is_free(self) -> bool:
        """Tells whether no fleet pays for it."""
        return not self.usd or self.zones < 2

    def usd_of_size(self, size: int) -> float:
        """Returns the dollars of a step on so many nodes, of which none runs yet."""
        return 0.0 if self.is_free or not size else self.usd * _even_share(size, self.zones)

    def usd_of(self, fleet: Mapping[str, int]) -> float:
        """Returns the dollars of a step of a fleet."""
        size = sum(fleet.values())
        if not self.is_free and size and self.present == fleet:
            return expected_bytes(size, self.squares, self.usd)
        return self.usd_of_size(size)


@lru_cache(maxsize=1 << 14)
def _even_share(size: int, zones: int) -> float:
    """Returns how many times a rank's gradients cross zones in a step. A search asks for it again and again."""
    return expected_bytes(size, even_squares(size, zones), 1.0)


FREE = Traffic()
"""No traffic costs anything."""


def expected_traffic(observations: Sequence[Observation], settings: DecideSettings) -> Traffic:
    """Returns what traffic between zones costs. Where facts do not tell how large gradients are, it costs nothing.

    Args:
        observations: Oldest first. The last one, the present, tells the zones of the nodes that run.
        settings: How many zones fleets spread over, and what a GB costs.
    """
    if not observations or not settings.usd_per_zones_gb:
        return FREE
    facts = next((seen.facts for seen in reversed(observations) if seen.facts), ())
    usd = max((fact.gradient_bytes or 0 for fact in facts), default=0) / BYTES_PER_GB * settings.usd_per_zones_gb
    present = observations[-1]
    if sum(present.zones.values()) != present.fleet.size:
        return Traffic(usd, settings.zones)
    zones = max(settings.zones, len(present.zones))
    return Traffic(usd, zones, present.fleet, squares_of(present.zones.values()))
