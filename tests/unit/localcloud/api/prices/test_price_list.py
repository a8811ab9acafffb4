"""The price list service, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcloud.api.errors import ServiceError
from localcloud.api.prices.price_list import PriceList

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
    with pytest.raises(ServiceError, match="AmazonEC2 and AmazonVPC only"):
        PriceList(PRICES, "us-east-1").answer("GetProducts", {"ServiceCode": "AmazonS3"})
