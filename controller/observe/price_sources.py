"""Prices from AWS: the answers of the pricing API and the spot price history, cached with their age, and overridden.

Pure but for the cache file: the calls themselves are made at the edge (`controller.edges.aws`), and their answers are
parsed here. The shapes are those of boto3's `pricing.get_products` and `ec2.describe_spot_price_history`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.domain import Price

ON_DEMAND_SOURCE, SPOT_SOURCE, OVERRIDE_SOURCE = "AWS pricing API", "AWS spot price history", "override"
DEFAULT_INTERRUPTIONS_PER_HOUR = 0.01
"""Of a spot node of which nothing is known: AWS's advisor says under 5% a month for most, over 20% for the worst."""


def product_filters(instance_type: str, region: str) -> list[dict[str, str]]:
    """The filters with which `pricing.get_products` answers with the on-demand Linux price of one instance type."""
    wanted = {
        "instanceType": instance_type,
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    return [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]


def parse_on_demand(price_list: Iterable[str], fetched_at: float) -> dict[str, Price]:
    """Hourly on-demand prices from the `PriceList` of get_products, whose entries are JSON texts.

    Entries that are torn or have no price above zero are left out: a missing price excludes a flavor, a made-up one
    does worse. Of several the lowest counts.
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
    """Instance type and dollars per hour of one entry; None where it has none."""
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
    """Spot prices from the `SpotPriceHistory` entries of describe_spot_price_history.

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
    """The prices with those that were negotiated in their place; flavors that only the override has are added."""
    result = dict(prices)
    for flavor, usd_per_hour in negotiated.items():
        base = result.get(flavor, Price(flavor, usd_per_hour))
        result[flavor] = replace(base, usd_per_hour=usd_per_hour, source=OVERRIDE_SOURCE, fetched_at=at)
    return result


@dataclass(frozen=True)
class PriceCache:
    """Prices in a file, each with the time at which it was fetched."""

    path: Path
    refresh_s: float = 3600.0

    def read(self) -> dict[str, Price]:
        """What is cached; nothing where the file is missing or torn, which only costs another fetch."""
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
            return {flavor: Price(**values) for flavor, values in raw.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def write(self, prices: Mapping[str, Price]) -> None:
        """Replace the file at once, so that a reader never sees half of it. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        text = json.dumps({flavor: asdict(price) for flavor, price in sorted(prices.items())}, indent=1)
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path)

    def current(
        self, flavors: Iterable[str], now: float, fetch: Callable[[list[str]], Mapping[str, Price]]
    ) -> dict[str, Price]:
        """The prices of these flavors, those that are missing or older than `refresh_s` fetched anew.

        What cannot be fetched keeps its old price and age, so that deciding can call it stale. Whatever `fetch` raises
        comes through only when nothing at all is cached.
        """
        wanted, cached = sorted(set(flavors)), self.read()
        due = [flavor for flavor in wanted if self._is_due(cached.get(flavor), now)]
        if due:
            try:
                cached = {**cached, **fetch(due)}
                self.write(cached)
            except Exception:
                if not cached:
                    raise
        return {flavor: cached[flavor] for flavor in wanted if flavor in cached}

    def _is_due(self, price: Price | None, now: float) -> bool:
        return price is None or price.fetched_at is None or now - price.fetched_at >= self.refresh_s
