"""CPU credits of instances, from CloudWatch through boto3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import boto3

from controller.domain import Credits
from controller.edges.aws import client_config, speak

PERIOD_S = 300
"""CloudWatch has CPU credits every five minutes, also where monitoring is detailed."""
LOOK_BACK_S = 1800
"""How old the last figure may be. It comes minutes after its period."""
METRICS = {"b": ("CPUCreditBalance", "Minimum"), "s": ("CPUSurplusCreditBalance", "Maximum")}
"""By the first letter of the query's id: the metric, and the statistic that is on the safe side."""


class AwsCredits:
    """Asks CloudWatch of one region. Needs the permission cloudwatch:GetMetricData."""

    def __init__(self, region: str) -> None:
        self._cloudwatch: Any = boto3.client("cloudwatch", region_name=region, config=client_config())

    def credits(self, instance_ids: Sequence[str], now: float) -> Mapping[str, Credits]:
        """Returns the last credits of each instance of which CloudWatch has any, in one call. Raises AwsError.

        Args:
            instance_ids: At most 250.
            now: Seconds since the epoch.
        """

        def call() -> list[dict[str, Any]]:
            answer = self._cloudwatch.get_metric_data(
                MetricDataQueries=[
                    _query(i, letter, node) for i, node in enumerate(instance_ids) for letter in METRICS
                ],
                StartTime=_time(now // PERIOD_S * PERIOD_S - LOOK_BACK_S),
                EndTime=_time(now // PERIOD_S * PERIOD_S + PERIOD_S),
                ScanBy="TimestampDescending",
            )
            return list(answer["MetricDataResults"])

        latest = {
            result["Id"]: max(zip(result["Timestamps"], result["Values"], strict=True))
            for result in speak("tell the CPU credits of the nodes", call)
            if result["Values"]
        }
        found = {}
        for index, node in enumerate(instance_ids):
            if f"b{index}" in latest:
                at, balance = latest[f"b{index}"]
                _, surplus = latest.get(f"s{index}", (at, 0.0))
                found[node] = Credits(float(balance), float(surplus), at.timestamp())
        return found


def _query(index: int, letter: str, instance_id: str) -> dict[str, Any]:
    name, statistic = METRICS[letter]
    metric = {
        "Namespace": "AWS/EC2",
        "MetricName": name,
        "Dimensions": [{"Name": "InstanceId", "Value": instance_id}],
    }
    return {"Id": f"{letter}{index}", "MetricStat": {"Metric": metric, "Period": PERIOD_S, "Stat": statistic}}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
