"""Composite alarms, as Terraform's provider asks for them."""

from __future__ import annotations

import boto3
from moto import mock_aws

from localcloud.api.patches.corrections.alarms import let_composite_alarms_be_put


@mock_aws
def test_a_composite_alarm_is_made_changed_shown_and_deleted() -> None:
    let_composite_alarms_be_put()
    cloudwatch = boto3.client(
        "cloudwatch", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    topic = "arn:aws:sns:us-east-1:123456789012:mail"
    tags = [{"Key": "centavo:cluster", "Value": "unit"}]
    for rule in ('ALARM("one")', 'ALARM("one") AND (ALARM("two"))'):
        cloudwatch.put_composite_alarm(
            AlarmName="orphan", AlarmRule=rule, AlarmActions=[topic], OKActions=[topic], AlarmDescription="d", Tags=tags
        )
        named = cloudwatch.describe_alarms(AlarmNames=["orphan"], AlarmTypes=["CompositeAlarm"])
        (alarm,) = named["CompositeAlarms"]
        assert named["MetricAlarms"] == []
        assert alarm["AlarmRule"] == rule and alarm["AlarmActions"] == alarm["OKActions"] == [topic]
        assert alarm["ActionsEnabled"] is True and alarm["AlarmDescription"] == "d"
        assert cloudwatch.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"] == tags
    cloudwatch.delete_alarms(AlarmNames=["orphan"])
    assert cloudwatch.describe_alarms(AlarmNames=["orphan"])["CompositeAlarms"] == []
