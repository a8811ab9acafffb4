"""AWS's prices at the edge, with answers as AWS gives them: pages, zones, errors."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from controller.domain.errors import AwsError
from controller.edges.prices import AwsPrices, product_filters

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> AwsPrices:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return AwsPrices("eu-west-1")


def spot(flavor: str, zone: str, usd: str) -> dict[str, Any]:
    return {"InstanceType": flavor, "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": NOON}


def group(name: str, zones: list[str]) -> dict[str, Any]:
    return {
        "AutoScalingGroupName": name,
        "AvailabilityZones": zones,
        "MinSize": 0,
        "MaxSize": 1,
        "DesiredCapacity": 0,
        "DefaultCooldown": 300,
        "HealthCheckType": "EC2",
        "CreatedTime": NOON,
    }


def test_the_price_list_of_another_region_is_asked_in_virginia_flavor_by_flavor_page_by_page(prices: AwsPrices) -> None:
    assert prices._pricing.meta.region_name == "us-east-1"
    with Stubber(prices._pricing) as stub:
        for flavor, pages in (("c5.large", [["one"], ["two"]]), ("t2.large", [["three"]])):
            asked = {"ServiceCode": "AmazonEC2", "Filters": product_filters(flavor, "eu-west-1")}
            for number, page in enumerate(pages):
                more = {} if number == len(pages) - 1 else {"NextToken": "next"}
                token = {"NextToken": "next"} if number else {}
                stub.add_response("get_products", {"PriceList": page, **more}, {**asked, **token})
        assert prices.on_demand(["c5.large", "t2.large"]) == ["one", "two", "three"]


def test_the_filters_ask_for_shared_linux_in_the_region() -> None:
    filters = {entry["Field"]: entry["Value"] for entry in product_filters("c5.large", "us-east-1")}
    assert filters["instanceType"] == "c5.large"
    assert filters["regionCode"] == "us-east-1"
    assert (filters["operatingSystem"], filters["tenancy"], filters["preInstalledSw"]) == ("Linux", "Shared", "NA")


def test_spot_prices_are_those_of_the_zones_of_each_flavors_group(prices: AwsPrices) -> None:
    entries = [spot(flavor, f"eu-west-1{zone}", "0.03") for flavor in ("c5.large", "t2.large") for zone in "ab"]
    asked = {
        "InstanceTypes": ["c5.large", "t2.large"],
        "ProductDescriptions": ["Linux/UNIX"],
        "StartTime": ANY,
    }
    with Stubber(prices._groups) as groups, Stubber(prices._ec2) as ec2:
        groups.add_response("describe_auto_scaling_groups", {"AutoScalingGroups": [group("g", ["eu-west-1b"])]})
        ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": entries[:3], "NextToken": "next"}, asked)
        ec2.add_response(
            "describe_spot_price_history", {"SpotPriceHistory": entries[3:]}, {**asked, "NextToken": "next"}
        )
        found = prices.spot({"c5.large": "g", "t2.large": "not-there-yet"})
    assert [(e["InstanceType"], e["AvailabilityZone"]) for e in found] == [
        ("c5.large", "eu-west-1b"),
        ("t2.large", "eu-west-1a"),
        ("t2.large", "eu-west-1b"),
    ]


def test_a_permission_that_is_missing_is_an_error_that_says_what_was_asked(prices: AwsPrices) -> None:
    with Stubber(prices._pricing) as stub:
        stub.add_client_error("get_products", "AccessDeniedException", "not authorized to perform pricing:GetProducts")
        with pytest.raises(AwsError, match=r"did not tell the on-demand prices.*pricing:GetProducts"):
            prices.on_demand(["c5.large"])
