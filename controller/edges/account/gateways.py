"""How many bytes have passed NAT gateways, from CloudWatch through boto3."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import boto3

from controller.edges.aws import client_config, speak

PERIOD_S = 300
"""CloudWatch keeps sums of five minutes for 63 days, and those of a minute for 15."""
METRICS = ("BytesInFromSource", "BytesInFromDestination")
"""The bytes that a NAT gateway receives: uploads from the VPC, and downloads (AWS Knowledge Center, "How do I find the
top contributors to NAT gateway traffic in my Amazon VPC?"). It is paid for what it processes, whichever way that goes
(Amazon VPC Pricing, "NAT Gateway"). BytesOutToDestination and BytesOutToSource are the same bytes on their way out."""


class AwsGateways:
    """Asks CloudWatch of one region. Needs the permission cloudwatch:GetMetricData."""

    def __init__(self, region: str) -> None:
        self._cloudwatch: Any = boto3.client("cloudwatch", region_name=region, config=client_config())

    def bytes_by_time(self, gateway_ids: Sequence[str], since: float, until: float) -> Mapping[float, float]:
        """Returns by the start of a period how many bytes have passed all gateways in it. Raises AwsError.

        It is one call, up to some weeks of three gateways. Periods in which nothing has passed may be left out. A
        gateway that CloudWatch does not know has passed nothing.

        Args:
            gateway_ids: The NAT gateways.
            since: From which period on, seconds since the epoch.
            until: Up to which time.
        """

        def call() -> list[dict[str, Any]]:
            pages = self._cloudwatch.get_paginator("get_metric_data").paginate(
                MetricDataQueries=[
                    _query(f"g{index}m{number}", name, gateway)
                    for index, gateway in enumerate(gateway_ids)
                    for number, name in enumerate(METRICS)
                ],
                StartTime=_time(since // PERIOD_S * PERIOD_S),
                EndTime=_time(until // PERIOD_S * PERIOD_S + PERIOD_S),
            )
            return [result for page in pages for result in page["MetricDataResults"]]

        passed: defaultdict[float, float] = defaultdict(float)
        for result in speak("tell the bytes that have passed the NAT gateways", call):
            for at, count in zip(result["Timestamps"], result["Values"], strict=True):
                passed[at.timestamp()] += count
        return dict(passed)


def _query(name: str, metric: str, gateway_id: str) -> dict[str, Any]:
    dimensions = [{"Name": "NatGatewayId", "Value": gateway_id}]
    of_gateway = {"Namespace": "AWS/NATGateway", "MetricName": metric, "Dimensions": dimensions}
    return {"Id": name, "MetricStat": {"Metric": of_gateway, "Period": PERIOD_S, "Stat": "Sum"}}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
