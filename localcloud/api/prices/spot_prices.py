"""The history of spot prices, which DescribeSpotPriceHistory shows. moto's price is always $0.00001."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

PRODUCT = "Linux/UNIX"


class SpotPrices:
    """The spot price of each flavor now and before, in US dollars per hour. All zones have the same price."""

    def __init__(self, prices: dict[str, float], zones: list[str]) -> None:
        self.zones = zones
        start = datetime.now(timezone.utc) - timedelta(days=1)
        self._history: list[tuple[datetime, str, float]] = [(start, flavor, price) for flavor, price in prices.items()]

    def set(self, flavor: str, price: float) -> None:
        """Sets the price of a flavor from now on."""
        self._history.append((datetime.now(timezone.utc), flavor, price))

    def describe(
        self,
        flavors: list[str],
        zones: list[str],
        products: list[str],
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the history, newest first, as the API shows it.

        Args:
            flavors: the instance types; empty for all.
            zones: the availability zones; empty for all.
            products: product descriptions; empty for all. Only Linux has prices.
            start: the begin of the history. As on EC2, the price that holds at `start` is part of it.
            end: the end of the history.
        """
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
