"""AWS's prices as they age: what is asked for, what is kept, and which of two markets counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Market, Price, head_price, on_demand_name
from controller.domain.errors import AwsError, DiskError
from controller.observe.prices.asked import RETRY_S, AskedPrices, PriceCache, Wanted, select

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


def test_a_price_is_old_and_asked_for_again_after_the_very_time(shop: Shop) -> None:
    shop.load()
    shop.load(after_s=HOUR)
    assert len(shop.aws.asked) == 4


def test_aws_is_asked_again_for_what_it_did_not_tell_after_the_very_time(shop: Shop) -> None:
    shop.aws.failing = {"spot", "on-demand"}
    shop.load()
    shop.load(after_s=RETRY_S - 0.1)
    assert len(shop.aws.asked) == 2
    shop.load(after_s=0.1)
    assert len(shop.aws.asked) == 4


def test_what_was_tried_is_not_forgotten_when_something_else_is(shop: Shop) -> None:
    shop.aws.failing = {"spot", "on-demand"}
    one, other = Wanted({"a": ON_DEMAND}), Wanted({"b": ON_DEMAND})
    shop.load(one)
    shop.load(other, after_s=1.0)
    shop.load(one, after_s=1.0)
    assert shop.aws.asked == [["a"], ["b"]]


def test_all_flavors_that_could_not_be_asked_for_are_named(shop: Shop) -> None:
    shop.aws.failing = {"on-demand"}
    shop.load(Wanted({"a": ON_DEMAND, "b": ON_DEMAND}))
    assert shop.told[0].startswith("the on-demand prices of a, b could not be asked for")


def test_a_cache_that_can_not_be_written_costs_another_fetch_and_nothing_else(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: PriceCache, prices: object) -> None:
        raise DiskError("full")

    monkeypatch.setattr(PriceCache, "write", full)
    assert shop.load()["c5.large"].usd_per_hour == 0.085


def test_a_flavor_counts_as_it_is_bought_now_whichever_market_was_fetched_last(shop: Shop) -> None:
    shop.load(Wanted({"t2.large": ON_DEMAND}))
    shop.load(Wanted({"t2.large": SPOT}), after_s=10)
    assert shop.load(Wanted({"t2.large": ON_DEMAND}))["t2.large"].usd_per_hour == 0.0928
    shop.aws.asked.clear()
    shop.load(Wanted({"t2.large": None}), after_s=HOUR)
    assert shop.aws.asked == [{"t2.large": None}], "it was bought on spot last"


def test_only_a_head_has_a_second_price(shop: Shop) -> None:
    shop.load(Wanted({"t2.large": ON_DEMAND}))
    assert shop.load(Wanted({"t2.large": SPOT})).keys() == {"t2.large"}
    assert shop.load(Wanted({"t2.large": ON_DEMAND}, heads=frozenset({"t2.large"}))).keys() == {"t2.large"}


def test_of_two_markets_the_one_that_was_fetched_last_counts_and_one_without_a_time_is_the_oldest() -> None:
    older, newer = Price("a", 1.0, "AWS pricing API", None), Price("a", 0.5, "AWS spot price history", 0.5)
    assert select({("a", ON_DEMAND): older, ("a", SPOT): newer}, Wanted()) == {"a": newer}
    late = Price("a", 1.0, "AWS pricing API", 9.0)
    assert select({("a", ON_DEMAND): late, ("a", SPOT): newer}, Wanted()) == {"a": late}


def test_a_spot_flavor_with_on_demand_nodes_is_asked_for_on_both_markets(shop: Shop) -> None:
    prices = shop.load(replace(BOTH, floors=frozenset({"t2.large"})))
    assert shop.aws.asked == [["c5.large", "t2.large"], {"t2.large": "group-t2"}]
    assert prices["t2.large"].usd_per_hour == 0.035
    assert prices[on_demand_name("t2.large")].usd_per_hour == 0.0928
