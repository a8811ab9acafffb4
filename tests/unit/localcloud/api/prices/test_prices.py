"""The price list and the spot price history, without a server."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from localcloud.api.errors import ServiceError
from localcloud.api.prices.price_file import read_prices
from localcloud.api.prices.price_list import PriceList
from localcloud.api.prices.spot_prices import SpotPrices

PRICES = {"c5.large": 0.085, "c5.xlarge": 0.17, "t2.medium": 0.0464}


def products(**request: Any) -> list[dict[str, Any]]:
    answer = PriceList(PRICES, "us-east-1").answer("GetProducts", {"ServiceCode": "AmazonEC2", **request})
    return [json.loads(product) for product in answer["PriceList"]]


def where(**wanted: str) -> list[dict[str, str]]:
    return [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]


def test_a_product_has_its_on_demand_price_where_clients_look_for_it() -> None:
    filters = where(instanceType="c5.large", operatingSystem="Linux", tenancy="Shared", preInstalledSw="NA")
    (product,) = products(Filters=[*filters, *where(regionCode="us-east-1", capacitystatus="Used")])
    (term,) = product["terms"]["OnDemand"].values()
    (dimension,) = term["priceDimensions"].values()
    assert float(dimension["pricePerUnit"]["USD"]) == 0.085
    assert dimension["unit"] == "Hrs"
    assert product["product"]["attributes"]["vcpu"] == "2"
    assert product["product"]["attributes"]["memory"] == "4 GiB"


def test_the_place_may_be_named_as_the_old_clients_do() -> None:
    assert len(products(Filters=where(location="US East (N. Virginia)"))) == 3


@pytest.mark.parametrize("other", [{"operatingSystem": "Windows"}, {"regionCode": "eu-west-1"}, {"instanceType": "p5"}])
def test_what_has_no_price_is_an_empty_answer(other: dict[str, str]) -> None:
    assert products(Filters=where(**other)) == []


def test_pages_hold_every_product_once() -> None:
    prices, seen, token = PriceList(PRICES, "us-east-1"), [], None
    while True:
        request = {"MaxResults": 2} | ({"NextToken": token} if token else {})
        page = prices.answer("GetProducts", request)
        seen += [json.loads(product)["product"]["attributes"]["instanceType"] for product in page["PriceList"]]
        token = page.get("NextToken")
        if not token:
            break
    assert seen == sorted(PRICES)


def test_attribute_values_can_be_listed() -> None:
    answer = PriceList(PRICES, "us-east-1").answer("GetAttributeValues", {"AttributeName": "instanceType"})
    assert [entry["Value"] for entry in answer["AttributeValues"]] == sorted(PRICES)


def test_other_services_have_no_prices() -> None:
    with pytest.raises(ServiceError, match="AmazonEC2 only"):
        PriceList(PRICES, "us-east-1").answer("GetProducts", {"ServiceCode": "AmazonS3"})


@pytest.mark.parametrize("price", ["cheap", "0", "-1", "true"])
def test_a_price_that_is_none_is_named(tmp_path: Path, price: str) -> None:
    path = tmp_path / "prices.yml"
    path.write_text(f"c5.large: {price}\n")
    with pytest.raises(ValueError, match=r"the price of c5\.large must be positive"):
        read_prices(path)


def test_the_shipped_prices_are_read() -> None:
    shipped = Path(__file__).parents[5] / "terraform" / "environments" / "local" / "prices.yml"
    assert read_prices(shipped)["c5.large"] == 0.085


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
