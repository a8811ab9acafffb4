"""The alarms' Terraform module against localcloud with the real AWS provider: apply, a clean plan, destroy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.local_cloud import LocalCloud
from tests.support.terraform_module import TerraformModule

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200), pytest.mark.needs_tool("terraform")]


def test_the_alarms_are_made_as_declared_and_removed(tmp_path: Path) -> None:
    groups = {"c5.large": "unit-c5-large", "t2.large": "unit-t2-large"}
    with LocalCloud(tmp_path / "cloud") as cloud:
        arguments = {"name": "unit", "email": "team@example.com", "groups": groups}
        module = TerraformModule(tmp_path / "checkout", cloud, "alarms", arguments)
        module.apply()
        cloudwatch, sns = cloud.client("cloudwatch"), cloud.client("sns")
        (orphan,) = cloudwatch.describe_alarms(AlarmNames=["unit-orphan"])["CompositeAlarms"]
        metric = {one["AlarmName"]: one for one in cloudwatch.describe_alarms()["MetricAlarms"]}
        runs = {f"unit-{flavor}-runs" for flavor in groups}
        assert set(metric) == {"unit-no-progress", "unit-budget", "unit-no-controller", *runs}
        assert all(f'ALARM("{name}")' in orphan["AlarmRule"] for name in ("unit-no-controller", *runs))
        (subscription,) = sns.list_subscriptions()["Subscriptions"]
        assert subscription["Endpoint"] == "team@example.com"
        mailing = [*orphan["AlarmActions"], *metric["unit-no-progress"]["AlarmActions"]]
        assert set(mailing) == {subscription["TopicArn"]}
        assert not metric["unit-no-controller"]["AlarmActions"], "alone it says nothing"
        module.destroy()
        left = cloudwatch.describe_alarms()
        assert left["MetricAlarms"] == left["CompositeAlarms"] == [] and sns.list_topics()["Topics"] == []
