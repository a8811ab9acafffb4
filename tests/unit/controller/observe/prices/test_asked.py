"""AWS's prices as they age: what is asked for, what is kept, and which of two markets counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Market, Price, head_price
from controller.domain.errors import AwsError
from controller.observe.prices.asked import RETRY_S, AskedPrices, PriceCache, Wanted

ON_DEMAND, SPOT = Market.ON_DEMAND, Market.SPOT
BOTH = Wanted({"c5.large": ON_DEMAND, "t2.large": SPOT}, {"t2.large": "group-t2"})
NOON = 1_800_000_000.0
HOUR = 3600.0


@dataclass
class Aws:
    """AWS's answers, and what it was asked for."""

    on_demand_usd: dict[str, float] = field(default_factory=lambda: {"c5.large": 0.085, "t2.large": 0.0928})
    spot_usd: dict[str, float] = field(default_factory=lambda: {"c5.large": 0.03, "t2.large": 0.035})
    failing: set[str] = field(default_factory=set)
    asked: list[Any] = field(default_factory=list)

    def on_demand(self, flavors: Iterable[str]) -> list[str]:
        self._ask("on-demand", sorted(flavors))
        return [self._product(flavor) for flavor in flavors if flavor in self.on_demand_usd]

    def spot(self, groups: Mapping[str, str | None]) -> list[dict[str, Any]]:
        self._ask("spot", dict(groups))
        at = datetime.fromtimestamp(NOON, timezone.utc)
        return [
            {"InstanceType": f, "AvailabilityZone": "a", "SpotPrice": str(self.spot_usd[f]), "Timestamp": at}
            for f in groups
            if f in self.spot_usd
        ]

    def _ask(self, what: str, for_what: Any) -> None:
        self.asked.append(for_what)
        if what in self.failing:
            raise AwsError(f"AWS did not tell the {what} prices: no route")

    def _product(self, flavor: str) -> str:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": str(self.on_demand_usd[flavor])}}
        terms = {"OnDemand": {"t": {"priceDimensions": {"d": dimension}}}}
        return json.dumps({"product": {"attributes": {"instanceType": flavor}}, "terms": terms})


@dataclass
class Shop:
    """Prices that are asked of a stand-in for AWS, at a time that the test sets."""

    file: Path
    aws: Aws = field(default_factory=Aws)
    now: float = NOON
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rates = {"t2.large": 0.2}
        self.asked = AskedPrices(self.aws, PriceCache(self.file), HOUR, rates, lambda: self.now, self.told.append)

    def load(self, wanted: Wanted = BOTH, after_s: float = 0.0) -> dict[str, Price]:
        self.now += after_s
        return self.asked.load(wanted)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "cache" / "prices.json")


def test_spot_flavors_get_spot_prices_with_their_interruptions_and_others_on_demand_ones(shop: Shop) -> None:
    assert shop.load() == {
        "c5.large": Price("c5.large", 0.085, "AWS pricing API", NOON),
        "t2.large": Price("t2.large", 0.035, "AWS spot price history", NOON, 0.2),
    }
    assert shop.aws.asked == [["c5.large"], {"t2.large": "group-t2"}]


def test_the_head_is_on_demand_also_where_a_flavor_of_its_type_is_not(shop: Shop) -> None:
    prices = shop.load(Wanted({"c5.large": SPOT}, heads=frozenset({"c5.large"})))
    head = head_price(prices, "c5.large")
    assert prices["c5.large"].usd_per_hour == 0.03
    assert head is not None and head.usd_per_hour == 0.085


def test_only_what_is_missing_or_old_is_asked_for(shop: Shop) -> None:
    shop.load()
    shop.load(after_s=HOUR - 1)
    assert len(shop.aws.asked) == 2
    shop.load(Wanted({**BOTH.markets, "c5.large": SPOT}), after_s=0.5)
    assert shop.aws.asked[2:] == [{"c5.large": None}]
    shop.aws.on_demand_usd["c5.large"] = 0.09
    assert shop.load(after_s=1)["c5.large"].usd_per_hour == 0.09


def test_another_process_finds_the_prices_in_the_cache(shop: Shop) -> None:
    first = shop.load()
    other = Shop(shop.file)
    assert other.load() == first
    assert other.load(Wanted()) == first, "all that is known, where nothing is wanted"
    assert other.aws.asked == []


def test_what_cannot_be_asked_for_keeps_its_price_and_its_age_and_is_asked_for_again(shop: Shop) -> None:
    shop.load()
    shop.aws.failing = {"spot"}
    shop.aws.on_demand_usd["c5.large"] = 0.09
    prices = shop.load(after_s=2 * HOUR)
    assert (prices["t2.large"].usd_per_hour, prices["t2.large"].fetched_at) == (0.035, NOON)
    assert (prices["c5.large"].usd_per_hour, prices["c5.large"].fetched_at) == (0.09, shop.now)
    (told,) = shop.told
    assert told.startswith("the spot prices of t2.large could not be asked for; the older ones stay: AWS did not tell")
    calls = len(shop.aws.asked)
    shop.load(after_s=RETRY_S / 2)
    assert len(shop.aws.asked) == calls
    shop.aws.failing = set()
    assert shop.load(after_s=RETRY_S)["t2.large"].fetched_at == shop.now


def test_a_flavor_that_aws_does_not_know_has_no_price_rather_than_a_made_up_one(shop: Shop) -> None:
    assert shop.load(Wanted({"p9.huge": ON_DEMAND})) == {}


def test_a_flavor_whose_market_is_not_known_yet_counts_as_it_did_last(shop: Shop) -> None:
    unknown = Wanted({"t2.large": None})
    assert shop.load(unknown)["t2.large"].source == "AWS pricing API"
    shop.load(after_s=10)
    assert shop.load(unknown)["t2.large"].source == "AWS spot price history"


def test_a_torn_cache_counts_as_empty_and_is_replaced(shop: Shop) -> None:
    shop.file.parent.mkdir()
    for torn in ('[{"flavor"', '{"c5.large": 1}', '[{"price": 1}]'):
        shop.file.write_text(torn)
        assert PriceCache(shop.file).read() == {}
    shop.load()
    assert len(PriceCache(shop.file).read()) == 2
