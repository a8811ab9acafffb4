"""The history of spot prices, without a server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from localcloud.api.prices.spot_prices import SpotPrices


def test_spot_prices_are_told_newest_first_and_from_the_price_that_held_at_the_start() -> None:
    spot = SpotPrices({"c5.large": 0.03, "c5.xlarge": 0.06}, ["us-east-1a", "us-east-1b"])
    before = datetime.now(timezone.utc)
    spot.set("c5.large", 0.04)
    told = spot.describe(["c5.large"], ["us-east-1a"], [], start=before - timedelta(hours=1))
    assert [entry["SpotPrice"] for entry in told] == ["0.040000", "0.030000"]
    now = spot.describe(["c5.large"], ["us-east-1a"], [], start=datetime.now(timezone.utc))
    assert [entry["SpotPrice"] for entry in now] == ["0.040000"]
    assert spot.describe(["c5.large"], [], [], end=before - timedelta(days=2)) == []


def test_each_zone_has_its_line_and_other_products_have_none() -> None:
    spot = SpotPrices({"c5.large": 0.03}, ["us-east-1a", "us-east-1b"])
    assert [entry["AvailabilityZone"] for entry in spot.describe([], [], ["Linux/UNIX"])] == [
        "us-east-1a",
        "us-east-1b",
    ]
    assert spot.describe([], [], ["Windows"]) == []
