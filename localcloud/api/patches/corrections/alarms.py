"""Corrections of CloudWatch's alarms."""

from __future__ import annotations

from typing import Any

from moto.cloudwatch.responses import CloudWatchResponse

from localcloud.api.patches.replace import replace


def correct_alarms() -> None:
    """Applies all corrections of CloudWatch's alarms."""
    let_composite_alarms_be_put()


def let_composite_alarms_be_put() -> None:
    """Answers PutCompositeAlarm. moto keeps and shows such alarms, and its method for metric alarms takes their rule.

    The state of a composite alarm never changes by itself, and neither does that of a metric alarm.
    """

    def put_composite_alarm(response: CloudWatchResponse) -> Any:
        return response.put_metric_alarm()

    replace(CloudWatchResponse, "put_composite_alarm", put_composite_alarm)
