"""AWS's answers about prices, parsed. `edges.prices` asks for them.

The shapes are those of boto3's `pricing.get_products` and `ec2.describe_spot_price_history`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from controller.domain import Price

ON_DEMAND_SOURCE, SPOT_SOURCE, OVERRIDE_SOURCE = "AWS pricing API", "AWS spot price history", "override"
DEFAULT_INTERRUPTIONS_PER_HOUR = 0.01
"""Expected of a spot node of which nothing is known. AWS's Spot Instance Advisor lists less than 5% a month for most
instance types, and more than 20% for the worst."""


def parse_on_demand(price_list: Iterable[str], fetched_at: float) -> dict[str, Price]:
    """Returns the hourly on-demand prices in the `PriceList` of get_products, whose entries are JSON texts.

    Entries that are torn or have no price above zero are left out: a missing price only excludes a flavor, a made-up
    price misleads. Of several prices of a flavor the lowest counts.
    """
    prices: dict[str, Price] = {}
    for entry in price_list:
        found = _on_demand_entry(entry)
        if found is None:
            continue
        flavor, usd_per_hour = found
        if flavor not in prices or usd_per_hour < prices[flavor].usd_per_hour:
            prices[flavor] = Price(flavor, usd_per_hour, ON_DEMAND_SOURCE, fetched_at)
    return prices


def _on_demand_entry(entry: str) -> tuple[str, float] | None:
    """Returns the instance type and the dollars an hour of one entry; None where it has none."""
    try:
        product = json.loads(entry)
        flavor = product["product"]["attributes"]["instanceType"]
        terms = product["terms"]["OnDemand"].values()
        dimensions = [dimension for term in terms for dimension in term["priceDimensions"].values()]
        hourly = [float(d["pricePerUnit"]["USD"]) for d in dimensions if d.get("unit") == "Hrs"]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    sound = [usd for usd in hourly if math.isfinite(usd) and usd > 0]
    return (flavor, min(sound)) if sound else None


def parse_spot(
    history: Iterable[Mapping[str, Any]],
    fetched_at: float,
    interruptions_per_hour: Mapping[str, float] | None = None,
) -> dict[str, Price]:
    """Returns the spot prices in the `SpotPriceHistory` entries of describe_spot_price_history.

    The latest price of each zone counts, and of the zones the lowest: an Auto Scaling group of several zones gets it.
    """
    latest: dict[tuple[str, str], tuple[datetime, float]] = {}
    for entry in history:
        try:
            key = (str(entry["InstanceType"]), str(entry["AvailabilityZone"]))
            at, usd = entry["Timestamp"], float(entry["SpotPrice"])
        except (KeyError, TypeError, ValueError):
            continue
        if math.isfinite(usd) and usd > 0 and (key not in latest or at > latest[key][0]):
            latest[key] = (at, usd)
    rates = interruptions_per_hour or {}
    prices: dict[str, Price] = {}
    for (flavor, _), (_, usd) in latest.items():
        if flavor not in prices or usd < prices[flavor].usd_per_hour:
            rate = rates.get(flavor, DEFAULT_INTERRUPTIONS_PER_HOUR)
            prices[flavor] = Price(flavor, usd, SPOT_SOURCE, fetched_at, rate)
    return prices


def overridden(prices: Mapping[str, Price], negotiated: Mapping[str, float], at: float) -> dict[str, Price]:
    """Returns the prices with the negotiated ones in their places. Flavors without another price are added."""
    result = dict(prices)
    for flavor, usd_per_hour in negotiated.items():
        base = result.get(flavor, Price(flavor, usd_per_hour))
        result[flavor] = replace(base, usd_per_hour=usd_per_hour, source=OVERRIDE_SOURCE, fetched_at=at)
    return result
