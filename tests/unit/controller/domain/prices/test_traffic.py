"""What crosses zones in a step, against every order of small rings, and by hand."""

from __future__ import annotations

import itertools
from statistics import mean

import pytest

from controller.domain.prices.traffic import even_squares, expected_bytes, ring_bytes, squares_of

GRADIENTS = 1000.0


@pytest.mark.parametrize(
    ("zones", "crossing"),
    [
        ("", 0.0),
        ("a", 0.0),
        ("aaaa", 0.0),
        ("ab", 2 * 1000.0),
        ("aabb", 2 * 1500.0),
        ("abab", 4 * 1500.0),
        ("abc", 3 * 2000 * 2 / 3),
    ],
)
def test_every_hop_between_zones_carries_its_share_of_the_gradients_twice(zones: str, crossing: float) -> None:
    """A ring of two sends the gradients once each way; one of four sends three quarters of them twice over each hop."""
    assert ring_bytes(zones, GRADIENTS) == pytest.approx(crossing)


@pytest.mark.parametrize("nodes", [(1,), (5,), (1, 1), (3, 1), (2, 2), (4, 2), (3, 3), (1, 1, 1), (3, 2, 1), (2, 2, 2)])
def test_what_is_expected_is_the_mean_over_all_orders_of_the_ring(nodes: tuple[int, ...]) -> None:
    zones = [zone for zone, count in zip("abc", nodes, strict=False) for _ in range(count)]
    over_all = mean(ring_bytes(order, GRADIENTS) for order in itertools.permutations(zones))
    assert expected_bytes(len(zones), squares_of(nodes), GRADIENTS) == pytest.approx(over_all)
    size = len(zones)
    hops = (size**2 - squares_of(nodes)) / max(1, size - 1)
    assert over_all == pytest.approx(hops * 2 * (size - 1) / size * GRADIENTS)


@pytest.mark.parametrize("zones", [1, 2, 3, 4])
@pytest.mark.parametrize("size", range(1, 9))
def test_no_spread_of_the_nodes_crosses_more_than_the_even_one(size: int, zones: int) -> None:
    spreads = (nodes for nodes in itertools.product(range(size + 1), repeat=zones) if sum(nodes) == size)
    assert even_squares(size, zones) == min(map(squares_of, spreads))
