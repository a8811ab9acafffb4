"""The metrics of CPU credits in CloudWatch: `AWS/EC2`, CPUCreditBalance and CPUSurplusCreditBalance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from moto.cloudwatch.models import CloudWatchBackend

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.states import RUNNING
from localcloud.api.metering.accounts import account_of
from localcloud.link.instance_dir import InstanceDir


class CreditMetrics:
    """Tells CloudWatch the credits of all instances that have some, once in a while.

    Args:
        instances: All instances.
        cloudwatch: moto's CloudWatch.
        directory: Returns the folder of an instance.
        every_s: How often. AWS has new figures every five minutes.
    """

    def __init__(
        self,
        instances: Instances,
        cloudwatch: CloudWatchBackend,
        directory: Callable[[str], InstanceDir],
        every_s: float,
    ) -> None:
        self._instances, self._cloudwatch = instances, cloudwatch
        self._directory, self._every_s = directory, every_s
        self._told_s: float | None = None

    def tick(self, now_s: float) -> None:
        """Tells the credits if it is time. `now_s` is of a clock that is never set back."""
        if self._told_s is not None and now_s - self._told_s < self._every_s:
            return
        self._told_s = now_s
        at = datetime.now(timezone.utc).replace(tzinfo=None)  # moto's times of metrics have no zone
        for tracked in self._instances:
            account = account_of(self._directory(tracked.id).credits)
            if tracked.state == RUNNING and account is not None:
                figures = {"CPUCreditBalance": account.balance, "CPUSurplusCreditBalance": account.surplus}
                dimensions = [{"Name": "InstanceId", "Value": tracked.id}]
                data = [
                    {"MetricName": name, "Dimensions": dimensions, "Value": value, "Timestamp": at, "Unit": "Count"}
                    for name, value in figures.items()
                ]
                self._cloudwatch.put_metric_data("AWS/EC2", data)
