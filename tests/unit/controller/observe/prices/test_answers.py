"""Prices from AWS: parsed, and overridden."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from controller.domain import Price
from controller.domain.prices.standing import ADDRESS, NAT_GATEWAY, NAT_GB, VOLUME
from controller.observe.prices.answers import (
    DEFAULT_INTERRUPTIONS_PER_HOUR,
    overridden,
    parse_on_demand,
    parse_spot,
)

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


def product(flavor, usd, unit="Hrs", **attributes):
    dimension = {"unit": unit, "pricePerUnit": {"USD": usd}}
    return json.dumps(
        {
            "product": {"attributes": {"instanceType": flavor, **attributes}},
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


@pytest.mark.parametrize("region", ["", "EUW3-", "USE1-"])
def test_prices_of_extras_are_known_by_their_usage_and_unit(region):
    usages = {
        NAT_GATEWAY: ("NatGateway-Hours", "Hrs"),
        NAT_GB: ("NatGateway-Bytes", "GB"),
        VOLUME: ("EBS:VolumeUsage.gp3", "GB-Mo"),
        ADDRESS: ("PublicIPv4:InUseAddress", "Hrs"),
    }
    extras = [product("any", "0.05", unit, usagetype=region + usage) for usage, unit in usages.values()]
    assert parse_on_demand(extras, 3.0) == {name: Price(name, 0.05, "AWS pricing API", 3.0) for name in usages}
    box = product("c5.large", "0.085", usagetype=f"{region}BoxUsage:c5.large")
    assert parse_on_demand([box], 3.0).keys() == {"c5.large"}


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


def test_what_is_torn_hides_nothing_that_comes_after_it():
    assert parse_on_demand(["{", product("c5.large", "0.085")], 0.0).keys() == {"c5.large"}
    assert parse_spot([{"InstanceType": "a"}, spot("c5.large", "a", "0.02")], 0.0).keys() == {"c5.large"}


@pytest.mark.parametrize("usd", ["0", "-1", "nan", "inf"])
def test_spot_prices_that_can_not_be_are_left_out(usd):
    assert parse_spot([spot("c5.large", "a", usd)], 0.0) == {}
    later = [spot("c5.large", "a", "0.02"), spot("c5.large", "a", usd, minutes=5)]
    assert parse_spot(later, 0.0)["c5.large"].usd_per_hour == 0.02


def test_of_prices_of_the_same_time_the_first_counts():
    assert parse_spot([spot("a", "z", "0.02"), spot("a", "z", "0.03")], 0.0)["a"].usd_per_hour == 0.02


def test_a_spot_flavor_of_which_nothing_is_known_has_the_usual_interruptions():
    assert parse_spot([spot("a", "z", "0.02")], 0.0)["a"].interruptions_per_hour == DEFAULT_INTERRUPTIONS_PER_HOUR
    assert parse_spot([spot("a", "z", "0.02")], 0.0, {"b": 0.5})["a"].interruptions_per_hour == 0.01


def test_a_price_that_was_only_negotiated_is_whole():
    assert overridden({}, {"p9.huge": 9.0}, 7.0) == {"p9.huge": Price("p9.huge", 9.0, "override", 7.0)}
