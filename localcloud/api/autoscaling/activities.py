"""The record of what groups did, as DescribeScalingActivities shows it; moto's is always empty."""

from __future__ import annotations

import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup

KEPT = 100


@dataclass
class Activity:
    """One scaling activity. It is under way until `end` is called."""

    group_name: str
    group_arn: str
    description: str
    cause: str
    status_code: str = "InProgress"
    status_message: str | None = None
    activity_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    start_time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    end_time: datetime | None = None

    def end(self, status_code: str, message: str | None = None) -> None:
        """The activity is over: Successful, Failed or Cancelled."""
        self.status_code, self.status_message = status_code, message
        self.end_time = datetime.now(timezone.utc)

    def to_api(self) -> dict[str, Any]:
        """As the API's Activity."""
        return {
            "ActivityId": self.activity_id,
            "AutoScalingGroupName": self.group_name,
            "AutoScalingGroupARN": self.group_arn,
            "Description": self.description,
            "Cause": self.cause,
            "StartTime": self.start_time,
            "EndTime": self.end_time,
            "StatusCode": self.status_code,
            "StatusMessage": self.status_message,
            "Progress": 50 if self.end_time is None else 100,
            "Details": "{}",
        }


class Activities:
    """The latest activities of each group, and which of them are under way for which instance."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Activity]] = {}
        self._under_way: dict[str, Activity] = {}

    def begin(self, group: FakeAutoScalingGroup, instance_id: str, description: str, cause: str) -> Activity:
        """An activity starts; one that was under way for the instance is cancelled."""
        self.end(instance_id, "Cancelled")
        activity = Activity(group.name, group.arn, description, cause)
        self._under_way[instance_id] = activity
        self._keep(activity)
        return activity

    def end(self, instance_id: str, status_code: str, message: str | None = None) -> None:
        """What was under way for an instance is over; harmless when nothing was."""
        activity = self._under_way.pop(instance_id, None)
        if activity:
            activity.end(status_code, message)

    def fail(self, group: FakeAutoScalingGroup, description: str, cause: str, message: str) -> None:
        """An activity that failed at once."""
        activity = Activity(group.name, group.arn, description, cause)
        activity.end("Failed", message)
        self._keep(activity)

    def of(self, group_name: str | None) -> list[Activity]:
        """The activities of one group or of all, newest first."""
        names = [group_name] if group_name else list(self._kept)
        found = [activity for name in names for activity in reversed(self._kept.get(name, ()))]
        return sorted(found, key=lambda activity: activity.start_time, reverse=True)

    def forget_all_but(self, group_names: set[str]) -> None:
        """Deleted groups take their activities with them."""
        for name in set(self._kept) - group_names:
            del self._kept[name]

    def _keep(self, activity: Activity) -> None:
        self._kept.setdefault(activity.group_name, deque(maxlen=KEPT)).append(activity)


def stamp() -> str:
    """The time as causes give it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
