"""AWS's price list and history of spot prices, through boto3. `observe.prices.answers` parses the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

import boto3

from controller.domain.prices.standing import ADDRESS, NAT_GATEWAY, NAT_GB, VOLUME
from controller.edges.aws import client_config, speak

PRICE_LIST_REGION = "us-east-1"
"""The price list of all regions is served from a few; this is one of them (AWS Price List Query API endpoints)."""
PRODUCT = "Linux/UNIX"


class AwsPrices:
    """What EC2 instances cost in one region, as AWS tells it. Raises AwsError. Needs the permissions
    pricing:GetProducts, and for spot ec2:DescribeSpotPriceHistory and autoscaling:DescribeAutoScalingGroups."""

    def __init__(self, region: str) -> None:
        self._region = region

    @cached_property
    def _pricing(self) -> Any:
        return boto3.client("pricing", region_name=PRICE_LIST_REGION, config=client_config())

    @cached_property
    def _ec2(self) -> Any:
        return boto3.client("ec2", region_name=self._region, config=client_config())

    @cached_property
    def _groups(self) -> Any:
        return boto3.client("autoscaling", region_name=self._region, config=client_config())

    def on_demand(self, names: Iterable[str]) -> list[str]:
        """Returns the price list's entries of these instance types and `EXTRAS`, each a JSON text."""

        def call() -> list[str]:
            pages = self._pricing.get_paginator("get_products")
            return [
                entry
                for service, filters in dict.fromkeys(_question(name, self._region) for name in names)
                for page in pages.paginate(ServiceCode=service, Filters=_as_filters(filters))
                for entry in page["PriceList"]
            ]

        return speak("tell the on-demand prices", call)

    def spot(self, groups: Mapping[str, str | None]) -> list[dict[str, Any]]:
        """Returns the spot prices of these flavors that hold now, as entries of the history.

        Args:
            groups: By flavor its Auto Scaling group. Prices count in the group's zones; in all zones where the group is
                None or does not exist yet.
        """

        def call() -> list[dict[str, Any]]:
            pages = self._ec2.get_paginator("describe_spot_price_history").paginate(
                InstanceTypes=sorted(groups), ProductDescriptions=[PRODUCT], StartTime=datetime.now(timezone.utc)
            )
            return [entry for page in pages for entry in page["SpotPriceHistory"]]

        zones = self._zones({group for group in groups.values() if group is not None})
        return [
            entry
            for entry in speak("tell the spot prices", call)
            if entry["AvailabilityZone"] in zones.get(groups[entry["InstanceType"]], (entry["AvailabilityZone"],))
        ]

    def _zones(self, groups: set[str]) -> dict[str | None, list[str]]:
        """Returns the availability zones of each group that exists."""

        def call() -> list[dict[str, Any]]:
            pages = self._groups.get_paginator("describe_auto_scaling_groups")
            return [group for page in pages.paginate(AutoScalingGroupNames=sorted(groups)) for group in page[_GROUPS]]

        found = speak("tell the zones of the Auto Scaling groups", call) if groups else []
        return {group["AutoScalingGroupName"]: list(group["AvailabilityZones"]) for group in found}


_GROUPS = "AutoScalingGroups"


_EXTRA_QUESTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    NAT_GATEWAY: ("AmazonEC2", {"productFamily": "NAT Gateway"}),
    NAT_GB: ("AmazonEC2", {"productFamily": "NAT Gateway"}),
    VOLUME: ("AmazonEC2", {"productFamily": "Storage", "volumeApiName": "gp3"}),
    ADDRESS: ("AmazonVPC", {}),
}
"""By name of an extra the service and the filters of its products. Those of AmazonVPC have no family in common."""


def product_filters(name: str, region: str) -> list[dict[str, str]]:
    """Returns the filters with which `pricing.get_products` tells the price of an instance type or of one of `EXTRAS`.

    An instance type's price is that of Linux on demand.
    """
    return _as_filters(_question(name, region)[1])


def _question(name: str, region: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Returns the service and the filters of a price, so that equal questions are asked once."""
    if name in _EXTRA_QUESTIONS:
        service, wanted = _EXTRA_QUESTIONS[name]
        return service, tuple({**wanted, "regionCode": region}.items())
    filters = {
        "instanceType": name,
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    return "AmazonEC2", tuple(filters.items())


def _as_filters(wanted: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted]
