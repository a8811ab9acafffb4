"""How many bytes of a step cross from one availability zone to another, and what that costs.

The ranks sum their gradients around a ring. Each of its n hops carries 2 (n - 1) / n times the gradients' bytes B in a
step (Patarasuk and Yuan, 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"). In a random
order of the ring, n_k nodes in zone k, (n^2 - sum n_k^2) / (n - 1) hops are expected to cross zones:

    expected crossing bytes = (n^2 - sum n_k^2) / (n - 1) 2 (n - 1) / n B = 2 B (n - sum n_k^2 / n)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ZONES_GB = "between-zones-gb"
"""The name of the price of each GB that crosses from one zone to another, where prices.yml has one."""
USD_PER_ZONES_GB = 0.02
"""What is assumed where it has none: AWS charges $0.01 to each side (EC2 On-Demand Pricing, "Data Transfer within the
same AWS Region"; AWS Data Exports User Guide, "Understanding data transfer charges"; as of 2026-11-24)."""
BYTES_PER_GB = 1e9
"""AWS's pages do not say whether their GB is 10^9 or 2^30 bytes. This is the dearer one, by 7%."""


def ring_bytes(zones: Sequence[str], gradient_bytes: float) -> float:
    """Returns how many bytes cross zones in a step. `zones` are those of the ranks, in the order of the ring."""
    size = len(zones)
    hops = sum(zone != following for zone, following in zip(zones, [*zones[1:], *zones[:1]], strict=True))
    return hops * 2 * (size - 1) / size * gradient_bytes if size else 0.0


def expected_bytes(size: int, squares: float, gradient_bytes: float) -> float:
    """Returns how many bytes are expected to cross zones in a step, in a random order of the ring.

    Args:
        size: How many nodes there are, at least one.
        squares: The sum over the zones of the square of their nodes.
        gradient_bytes: The bytes of a rank's gradients.
    """
    return 2 * gradient_bytes * (size - squares / size)


def squares_of(nodes: Iterable[float]) -> float:
    """Returns the sum of the squares of the nodes of each zone."""
    return sum(count**2 for count in nodes)


def even_squares(size: int, zones: int) -> float:
    """Returns the sum of the squares where the nodes spread evenly over so many zones. No other spread has less."""
    each, more = divmod(size, zones)
    return (zones - more) * each**2 + more * (each + 1) ** 2
