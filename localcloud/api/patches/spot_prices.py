"""The history of spot prices."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from localcloud.api.patches.replace import replace
from localcloud.api.prices.spot_prices import SpotPrices


def patch_spot_prices(prices: SpotPrices) -> None:
    """Lets DescribeSpotPriceHistory show `prices`."""

    def describe_spot_price_history(response: EC2Response) -> ActionResult:
        filters: dict[str, Any] = response._filters_from_querystring()
        zone = response._get_param("AvailabilityZone")
        history = prices.describe(
            response._get_param("InstanceTypes", []) or filters.get("instance-type", []),
            [zone] if zone else filters.get("availability-zone", []),
            response._get_param("ProductDescriptions", []) or filters.get("product-description", []),
            _moment(response._get_param("StartTime")),
            _moment(response._get_param("EndTime")),
        )
        return ActionResult({"SpotPriceHistory": history, "NextToken": ""})

    replace(EC2Response, "describe_spot_price_history", describe_spot_price_history)


def _moment(value: Any) -> datetime | None:
    """Returns a time of a request. moto 5.1.17 parses some times itself and drops their zone, which is UTC."""
    moment = datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
