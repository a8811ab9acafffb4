"""Bytes through NAT gateways on localcloud: CloudWatch tells those that were put there, and of others nothing."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import boto3
import pytest

from controller.edges.account.gateways import PERIOD_S, AwsGateways
from controller.observe.prices.gateways import AskedGateways
from tests.support.local_cloud import LocalCloud

METRICS = ("BytesInFromSource", "BytesInFromDestination", "BytesOutToDestination", "BytesOutToSource")


def test_bytes_are_counted_once_from_the_beginning_of_the_run_and_no_figures_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time() // PERIOD_S * PERIOD_S
    with LocalCloud(tmp_path) as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        told: list[str] = []
        asked = AskedGateways(AwsGateways("us-east-1"), now - 2 * PERIOD_S, lambda: now, told.append)
        assert asked.bytes_of(["nat-1", "nat-2"]) == 0.0
        data = [
            {
                "MetricName": metric,
                "Dimensions": [{"Name": "NatGatewayId", "Value": gateway}],
                "Timestamp": datetime.fromtimestamp(now - seconds, timezone.utc),
                "Value": count,
                "Unit": "Bytes",
            }
            for metric in METRICS
            for gateway in ("nat-1", "nat-2")
            for seconds, count in ((3 * PERIOD_S, 1e6), (2 * PERIOD_S, 100.0), (2 * PERIOD_S - 60, 20.0), (60, 3.0))
        ]
        boto3.client("cloudwatch", region_name="us-east-1").put_metric_data(Namespace="AWS/NATGateway", MetricData=data)
        again = AskedGateways(AwsGateways("us-east-1"), now - 2 * PERIOD_S, lambda: now, told.append)
        assert again.bytes_of(["nat-1", "nat-2"]) == 4 * 123.0
        assert again.bytes_of(["nat-1"]) == 4 * 123.0, "it is not asked again at once"
    assert told == []
