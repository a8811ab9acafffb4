"""AWS's answers about prices, parsed. `edges.prices` asks for them.

The shapes are those of boto3's `pricing.get_products` and `ec2.describe_spot_price_history`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from controller.domain import Price
from controller.domain.prices.standing import ADDRESS, NAT_GATEWAY, NAT_GB, VOLUME

ON_DEMAND_SOURCE, SPOT_SOURCE, OVERRIDE_SOURCE = "AWS pricing API", "AWS spot price history", "override"
DEFAULT_INTERRUPTIONS_PER_HOUR = 0.01
"""Expected of a spot node of which nothing is known. AWS's Spot Instance Advisor lists less than 5% a month for most
instance types, and more than 20% for the worst."""


def parse_on_demand(price_list: Iterable[str], fetched_at: float) -> dict[str, Price]:
    """Returns the on-demand prices in the `PriceList` of get_products, whose entries are JSON texts.

    Prices of instances and of `EXTRAS` are told apart by their attributes.

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
    """Returns the name and the dollars of one entry; None where it has none, or is of something else."""
    try:
        product = json.loads(entry)
        name, unit = _product_name(product["product"]["attributes"])
        terms = product["terms"]["OnDemand"].values()
        dimensions = [dimension for term in terms for dimension in term["priceDimensions"].values()]
        dollars = [float(d["pricePerUnit"]["USD"]) for d in dimensions if d.get("unit") == unit]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    sound = [usd for usd in dollars if math.isfinite(usd) and usd > 0]
    return (name, min(sound)) if sound else None


_USAGES = (
    (NAT_GATEWAY, "NatGateway-Hours", "Hrs"),
    (NAT_GB, "NatGateway-Bytes", "GB"),
    (VOLUME, "EBS:VolumeUsage.gp3", "GB-Mo"),
    (ADDRESS, "PublicIPv4:InUseAddress", "Hrs"),
)
"""Name, usage type and unit of each extra. In most regions the usage type begins with a code of the region: `EUW3-`."""


def _product_name(attributes: Mapping[str, str]) -> tuple[str, str]:
    """Returns the name and the unit of a product's price. Raises KeyError for a product that is of no interest."""
    usage = attributes.get("usagetype", "")
    for name, wanted, unit in _USAGES:
        if re.fullmatch(rf"([A-Z]+[0-9]*-)?{re.escape(wanted)}", usage):
            return name, unit
    return attributes["instanceType"], "Hrs"


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
