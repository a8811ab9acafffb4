"""Prices from AWS: parsed, cached with their age, overridden."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from controller.domain import Price
from controller.observe.price_sources import PriceCache, overridden, parse_on_demand, parse_spot, product_filters

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


def product(flavor, usd, unit="Hrs"):
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"instanceType": flavor}},
            "terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": dimension}}}},
        }
    )


def spot(flavor, zone, usd, minutes=0):
    at = NOON + timedelta(minutes=minutes)
    return {"InstanceType": flavor, "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": at}


def test_the_pricing_apis_answer_gives_hourly_prices_with_their_age():
    prices = parse_on_demand([product("c5.large", "0.0850000000"), product("t2.large", "0.0928")], 100.0)
    assert prices["c5.large"] == Price("c5.large", 0.085, "AWS pricing API", 100.0)
    assert prices["t2.large"].usd_per_hour == 0.0928


@pytest.mark.parametrize(
    "torn", ["{", "[]", "{}", product("a", "0.0"), product("a", "x"), product("a", "1", "Quantity")]
)
def test_torn_entries_and_prices_of_zero_are_left_out(torn):
    assert parse_on_demand([torn], 0.0) == {}


def test_the_filters_ask_for_shared_linux_in_the_region():
    filters = {entry["Field"]: entry["Value"] for entry in product_filters("c5.large", "us-east-1")}
    assert filters["instanceType"] == "c5.large"
    assert filters["regionCode"] == "us-east-1"
    assert filters["operatingSystem"] == "Linux"


def test_of_the_spot_history_the_latest_of_each_zone_counts_and_of_the_zones_the_lowest():
    history = [
        spot("c5.large", "a", "0.020", minutes=0),
        spot("c5.large", "a", "0.040", minutes=30),
        spot("c5.large", "b", "0.035", minutes=10),
        {"InstanceType": "c5.large"},
    ]
    prices = parse_spot(history, 5.0, {"c5.large": 0.07})
    assert prices == {"c5.large": Price("c5.large", 0.035, "AWS spot price history", 5.0, 0.07)}


def test_a_negotiated_price_takes_the_place_of_the_list_price_and_keeps_the_interruptions():
    listed = {"c5.large": Price("c5.large", 0.085, "AWS pricing API", 1.0, 0.02)}
    prices = overridden(listed, {"c5.large": 0.06, "p9.huge": 9.0}, 7.0)
    assert prices["c5.large"] == Price("c5.large", 0.06, "override", 7.0, 0.02)
    assert prices["p9.huge"].usd_per_hour == 9.0


def test_the_cache_asks_only_for_what_is_missing_or_old(tmp_path):
    asked = []

    def fetch(flavors):
        asked.append(flavors)
        return {flavor: Price(flavor, 0.1, "test", 1000.0 * len(asked)) for flavor in flavors}

    cache = PriceCache(tmp_path / "cache" / "prices.json", refresh_s=600.0)
    assert set(cache.current(["a", "b"], 1000.0, fetch)) == {"a", "b"}
    cache.current(["a", "b"], 1500.0, fetch)
    cache.current(["a", "b", "c"], 1500.0, fetch)
    cache.current(["a"], 1700.0, fetch)
    assert asked == [["a", "b"], ["c"], ["a"]]


def test_when_fetching_fails_the_old_price_stays_with_its_age(tmp_path):
    cache = PriceCache(tmp_path / "prices.json", refresh_s=600.0)
    cache.write({"a": Price("a", 0.1, "test", 50.0)})

    def fail(flavors):
        raise ConnectionError("no route")

    assert cache.current(["a", "b"], 1e6, fail) == {"a": Price("a", 0.1, "test", 50.0)}
    cache.path.unlink()
    with pytest.raises(ConnectionError):
        cache.current(["a"], 1e6, fail)


def test_a_torn_cache_counts_as_empty(tmp_path):
    cache = PriceCache(tmp_path / "prices.json")
    cache.path.write_text('{"a": {"flavor"')
    assert cache.read() == {}
