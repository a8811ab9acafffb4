"""What AWS has charged for a cluster, from Cost Explorer through boto3."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

import boto3

from controller.edges.aws import CLUSTER_TAG, client_config, speak

COST_EXPLORER_REGION = "us-east-1"
"""Cost Explorer of all regions is served from here."""


@dataclass(frozen=True)
class Charged:
    """What AWS has charged.

    Attributes:
        usd: By usage type, such as `BoxUsage:c5.large`; in most regions it begins with a code of the region.
        is_estimated: Whether AWS may still change it: charges are complete a day later, and final after the month.
    """

    usd: dict[str, float]
    is_estimated: bool


class AwsSpending:
    """Asks Cost Explorer, which charges $0.01 for each question. Needs the permission ce:GetCostAndUsage."""

    def __init__(self) -> None:
        self._explorer: Any = boto3.client("ce", region_name=COST_EXPLORER_REGION, config=client_config())

    def charged(self, cluster: str, first: date, end: date) -> Charged:
        """Returns what AWS has charged for a cluster, by the tag that all its resources have.

        The tag has to be activated as a cost allocation tag (AWS Billing User Guide, "Activating user-defined cost
        allocation tags"); without that, nothing is found.

        Args:
            cluster: The cluster's name.
            first: The first day, UTC.
            end: The day after the last.

        Raises:
            AwsError: AWS did not tell.
        """
        usd: defaultdict[str, float] = defaultdict(float)
        is_estimated = False
        for day in speak("tell what the cluster was charged", lambda: self._days(cluster, first, end)):
            is_estimated = is_estimated or bool(day.get("Estimated"))
            for group in day["Groups"]:
                usd[group["Keys"][0]] += float(group["Metrics"]["UnblendedCost"]["Amount"])
        return Charged(dict(usd), is_estimated)

    def _days(self, cluster: str, first: date, end: date) -> list[dict[str, Any]]:
        days: list[dict[str, Any]] = []
        request: dict[str, Any] = {
            "TimePeriod": {"Start": first.isoformat(), "End": end.isoformat()},
            "Granularity": "DAILY",
            "Metrics": ["UnblendedCost"],
            "Filter": {"Tags": {"Key": CLUSTER_TAG, "Values": [cluster]}},
            "GroupBy": [{"Type": "DIMENSION", "Key": "USAGE_TYPE"}],
        }
        while True:
            answer = self._explorer.get_cost_and_usage(**request)
            days += answer["ResultsByTime"]
            if not answer.get("NextPageToken"):
                return days
            request["NextPageToken"] = answer["NextPageToken"]
