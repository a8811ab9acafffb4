"""The metrics of a running controller for CloudWatch: where the settings ask for it, once a minute.

CloudWatch charges for each metric, so there are few: none has a label beside the cluster. What is unknown is absent.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import boto3
from prometheus_client import CollectorRegistry

from controller.edges.aws import AWS_ERRORS, client_config
from controller.record.export.repeating import repeating

NAMESPACE = "Centavo"
EVERY_S = 60.0
SENT: Mapping[str, tuple[str, str]] = {
    "centavo_training_step": ("TrainingStep", "Count"),
    "centavo_training_steps": ("TrainingSteps", "Count"),
    "centavo_training_loss": ("TrainingLoss", "None"),
    "centavo_training_tokens_per_second": ("TokensPerSecond", "Count/Second"),
    "centavo_training_iteration_time_seconds": ("IterationTime", "Seconds"),
    "centavo_training_ranks": ("Ranks", "Count"),
    "centavo_fleet_nodes": ("FleetNodes", "Count"),
    "centavo_fleet_unknown_nodes": ("UnknownNodes", "Count"),
    "centavo_fleet_cost_usd_per_million_tokens": ("UsdPerMillionTokens", "None"),
    "centavo_spent_usd": ("SpentUsd", "None"),
}
"""By the name at `/metrics`, the name and the unit in CloudWatch."""
CONTROLLERS, WITHOUT_STEP, BUDGET_USED = "Controllers", "SecondsWithoutStep", "BudgetUsedPercent"
"""Metrics that `/metrics` has not. The alarms of `terraform/modules/alarms` watch them."""


@dataclass(frozen=True)
class Metric:
    """One value, by its name in CloudWatch."""

    name: str
    value: float
    unit: str


def metrics_of(registry: CollectorRegistry) -> list[Metric]:
    """Returns what is known of the metrics that CloudWatch gets. Samples of several flavors are added up."""
    found: dict[str, float] = {}
    for family in registry.collect():
        if family.name in SENT and family.samples:
            found[family.name] = math.fsum(sample.value for sample in family.samples)
    return [Metric(SENT[name][0], value, SENT[name][1]) for name, value in found.items() if math.isfinite(value)]


class Progress:
    """How long the training has made no step, as far as the metrics tell."""

    def __init__(self) -> None:
        self._step: float | None = None
        self._since = 0.0

    def without_step_s(self, step: float | None, now: float) -> float | None:
        """Returns for how long the step has been the same; None before the first step: a start takes its time."""
        if step != self._step:
            self._step, self._since = step, now
        return now - self._since if step else None


@dataclass(frozen=True)
class CloudMetrics:
    """The metrics of one run on their way to CloudWatch.

    Attributes:
        registry: The metrics.
        region: The region that gets them.
        cluster: Returns the name of the cluster; None as long as it is not known.
        budget_usd: What the run may cost; None where it may cost anything.
        now: Returns the seconds since the epoch.
        tell: Takes why CloudWatch does not take metrics, once until it does. Another thread calls it.
    """

    registry: CollectorRegistry
    region: str
    cluster: Callable[[], str | None]
    budget_usd: float | None
    now: Callable[[], float]
    tell: Callable[[str], None]

    def sent(self) -> AbstractContextManager[None]:
        """Sends the metrics again and again while inside."""
        return repeating("cloud metrics", self._send)

    def all(self, progress: Progress) -> list[Metric]:
        """Returns all metrics at this moment."""
        metrics = metrics_of(self.registry)
        values = {metric.name: metric.value for metric in metrics}
        metrics.append(Metric(CONTROLLERS, 1.0, "Count"))
        without_s = progress.without_step_s(values.get("TrainingStep"), self.now())
        if without_s is not None:
            metrics.append(Metric(WITHOUT_STEP, without_s, "Seconds"))
        if self.budget_usd and "SpentUsd" in values:
            metrics.append(Metric(BUDGET_USED, 100 * values["SpentUsd"] / self.budget_usd, "Percent"))
        return metrics

    def _send(self, ends: threading.Event) -> None:
        progress, client, trouble = Progress(), None, ""
        while not ends.wait(EVERY_S):
            cluster = self.cluster()
            if cluster is None:
                continue
            try:
                client = client or _client(self.region)
                client.put_metric_data(Namespace=NAMESPACE, MetricData=as_data(self.all(progress), cluster))
                trouble = ""
            except AWS_ERRORS as error:
                if not trouble:
                    self.tell(f"CloudWatch does not take metrics: {error}")
                client, trouble = None, str(error)


def as_data(metrics: list[Metric], cluster: str) -> list[dict[str, Any]]:
    """Returns the metrics as PutMetricData takes them."""
    dimensions = [{"Name": "cluster", "Value": cluster}]
    return [{"MetricName": m.name, "Dimensions": dimensions, "Value": m.value, "Unit": m.unit} for m in metrics]


def _client(region: str) -> Any:
    return boto3.session.Session().client("cloudwatch", region_name=region, config=client_config())
