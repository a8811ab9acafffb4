"""The metrics that CloudWatch gets: few, known, and those that the alarms watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from controller.record.export import cloud_metrics
from controller.record.export.cloud_metrics import CloudMetrics, Progress, metrics_of
from controller.record.export.metrics import MetricsReporter
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun

MOST = 13
"""More would cost more than centavo.yml says."""
PATIENCE_S = 30.0


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    run = SyntheticRun(tmp_path)
    run.boot()
    return run


@pytest.fixture
def reporter(run: SyntheticRun) -> MetricsReporter:
    return MetricsReporter(run.journal.info(), PRICES)


def cloud(
    reporter: MetricsReporter, tell: Callable[[str], None] = print, budget_usd: float | None = 5.0
) -> CloudMetrics:
    return CloudMetrics(reporter.registry, "us-east-1", lambda: "unit", budget_usd, time.time, tell)


def test_there_are_few_metrics_and_what_is_unknown_is_absent(run: SyntheticRun, reporter: MetricsReporter) -> None:
    run.train(5)
    observation = run.observe()
    reporter.observed(observation, None, 2.0)
    found = {metric.name: metric.value for metric in cloud(reporter).all(Progress())}
    assert found["FleetNodes"] == sum(observation.fleet.values())
    assert found["TrainingStep"] == max(fact.step for fact in observation.facts)
    assert (found["SpentUsd"], found["BudgetUsedPercent"], found["Controllers"]) == (2.0, 40.0, 1.0)
    assert len(found) <= MOST
    assert "BudgetUsedPercent" not in {m.name for m in cloud(reporter, budget_usd=None).all(Progress())}


def test_every_metric_that_is_sent_is_one_of_metrics(reporter: MetricsReporter) -> None:
    assert set(cloud_metrics.SENT) <= {family.name for family in reporter.registry.collect()}
    assert len(cloud_metrics.SENT) + 3 == MOST
    assert all(metric.value == metric.value for metric in metrics_of(reporter.registry))


def test_the_time_without_a_step_begins_with_each_step() -> None:
    progress = Progress()
    assert [progress.without_step_s(step, now) for step, now in [(None, 0.0), (0, 10.0), (0, 20.0)]] == [None] * 3
    assert [progress.without_step_s(step, now) for step, now in [(1, 30.0), (1, 90.0), (2, 100.0)]] == [0.0, 60.0, 0.0]


@pytest.fixture
def cloudwatch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(cloud_metrics, "EVERY_S", 0.02)
    with mock_aws():
        yield boto3.client("cloudwatch", region_name="us-east-1")


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_cloudwatch_gets_them_with_the_cluster(reporter: MetricsReporter, cloudwatch: Any) -> None:
    wanted = [{"Name": "cluster", "Value": "unit"}]
    with cloud(reporter).sent():
        until(
            lambda: cloudwatch.list_metrics(Namespace="Centavo", MetricName="Controllers", Dimensions=wanted)["Metrics"]
        )


@pytest.mark.usefixtures("cloudwatch")
def test_a_cloudwatch_that_takes_nothing_is_told_once(
    reporter: MetricsReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    class Out:
        def put_metric_data(self, **_: Any) -> None:
            calls.append(1)
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    told: list[str] = []
    monkeypatch.setattr(cloud_metrics, "_client", lambda region: Out())
    with cloud(reporter, told.append).sent():
        until(lambda: len(calls) >= 3)
    assert len(told) == 1 and "CloudWatch does not take metrics" in told[0]
