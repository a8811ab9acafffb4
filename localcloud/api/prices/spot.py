"""Spot prices: the history that DescribeSpotPriceHistory shows, from the configuration instead of moto's 0.00001."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

PRODUCT = "Linux/UNIX"


class SpotPrices:
    """The current spot price of each flavor, and how it came about. Prices are US dollars per hour."""

    def __init__(self, prices: dict[str, float], zones: list[str]) -> None:
        self.zones = zones
        start = datetime.now(timezone.utc) - timedelta(days=1)
        self._history: list[tuple[datetime, str, float]] = [(start, flavor, price) for flavor, price in prices.items()]

    def set(self, flavor: str, price: float) -> None:
        """A new price from now on."""
        self._history.append((datetime.now(timezone.utc), flavor, price))

    def describe(
        self,
        flavors: list[str],
        zones: list[str],
        products: list[str],
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> list[dict[str, Any]]:
        """The history, newest first. As on EC2, the price that holds at `start` is part of it."""
        if products and not any(product.startswith(PRODUCT) for product in products):
            return []
        points = []
        for index, (when, flavor, price) in enumerate(self._history):
            if flavors and flavor not in flavors:
                continue
            until = next((later for later, other, _ in self._history[index + 1 :] if other == flavor), None)
            if (end is None or when <= end) and (start is None or until is None or until > start):
                points.append((when, flavor, price))
        return [
            {
                "AvailabilityZone": zone,
                "InstanceType": flavor,
                "ProductDescription": PRODUCT,
                "SpotPrice": f"{price:.6f}",
                "Timestamp": when,
            }
            for when, flavor, price in sorted(points, reverse=True)
            for zone in self.zones
            if not zones or zone in zones
        ]
