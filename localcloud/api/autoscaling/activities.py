"""The scaling activities of groups, which DescribeScalingActivities shows. moto's list is always empty."""

from __future__ import annotations

import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from moto.autoscaling.models import FakeAutoScalingGroup

KEPT = 100  # activities of each group

Status = Literal["InProgress", "Successful", "Failed", "Cancelled"]


@dataclass
class Activity:
    """One scaling activity. It is in progress until `end` is called."""

    group_name: str
    group_arn: str
    description: str
    cause: str
    status_code: Status = "InProgress"
    status_message: str | None = None
    activity_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    start_time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    end_time: datetime | None = None

    def end(self, status_code: Status, message: str | None = None) -> None:
        """Ends the activity with a status and, if it failed, the reason."""
        self.status_code, self.status_message = status_code, message
        self.end_time = datetime.now(timezone.utc)

    def to_api(self) -> dict[str, Any]:
        """Returns the activity as the API shows it."""
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
    """The latest activities of each group, and the activity in progress of each instance."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Activity]] = {}
        self._in_progress: dict[str, Activity] = {}

    def begin(self, group: FakeAutoScalingGroup, instance_id: str, description: str, cause: str) -> Activity:
        """Begins an activity. Another one that is in progress for the instance is cancelled."""
        self.end(instance_id, "Cancelled")
        activity = Activity(group.name, group.arn, description, cause)
        self._in_progress[instance_id] = activity
        self._keep(activity)
        return activity

    def end(self, instance_id: str, status_code: Status, message: str | None = None) -> None:
        """Ends the activity in progress of an instance. Harmless if there is none."""
        activity = self._in_progress.pop(instance_id, None)
        if activity:
            activity.end(status_code, message)

    def fail(self, group: FakeAutoScalingGroup, description: str, cause: str, message: str) -> None:
        """Adds an activity that failed at once."""
        activity = Activity(group.name, group.arn, description, cause)
        activity.end("Failed", message)
        self._keep(activity)

    def of(self, group_name: str | None) -> list[Activity]:
        """Returns the activities of one group, or of all groups for None, newest first."""
        names = [group_name] if group_name else list(self._kept)
        found = [activity for name in names for activity in reversed(self._kept.get(name, ()))]
        return sorted(found, key=lambda activity: activity.start_time, reverse=True)

    def forget_all_but(self, group_names: set[str]) -> None:
        """Removes the activities of all groups that are not named, because those groups are deleted."""
        for name in set(self._kept) - group_names:
            del self._kept[name]

    def _keep(self, activity: Activity) -> None:
        self._kept.setdefault(activity.group_name, deque(maxlen=KEPT)).append(activity)


def at_this_time() -> str:
    """Returns the words with which the cause of an activity begins."""
    return f"At {datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')}"
