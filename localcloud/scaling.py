"""Auto Scaling: groups that work towards their desired capacity, and tell in their activities how that went.

moto launches and terminates inside the API call, knows no failure and keeps no activities. Here a call only says what
is wanted; `Scaling.tick` compares that with what is there, as the real service does.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import ASG_NAME_TAG, AutoScalingBackend, FakeAutoScalingGroup, InstanceState
from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError

from localcloud.launch import no_capacity, run_instances
from localcloud.machines import PENDING, RUNNING, TERMINATED, Machines

ACTIVITIES_KEPT = 100
WAITING, IN_SERVICE, TERMINATING = "Pending", "InService", "Terminating"
PROTECTED = "Could not scale to desired capacity because all remaining instances are protected from scale in."

log = logging.getLogger("localcloud.scaling")


@dataclass
class Activity:
    """One scaling activity, as DescribeScalingActivities shows it."""

    group: FakeAutoScalingGroup
    description: str
    cause: str
    status_code: str = "InProgress"
    status_message: str | None = None
    activity_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    start_time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    end_time: datetime | None = None

    def end(self, status_code: str, message: str | None = None) -> None:
        """The activity is over."""
        self.status_code, self.status_message = status_code, message
        self.end_time = datetime.now(timezone.utc)

    def to_api(self) -> dict[str, Any]:
        """As the API's Activity."""
        return {
            "ActivityId": self.activity_id,
            "AutoScalingGroupName": self.group.name,
            "AutoScalingGroupARN": self.group.arn,
            "Description": self.description,
            "Cause": self.cause,
            "StartTime": self.start_time,
            "EndTime": self.end_time,
            "StatusCode": self.status_code,
            "StatusMessage": self.status_message,
            "Progress": 50 if self.end_time is None else 100,
            "Details": "{}",
        }


class Scaling:
    """Keeps every group at its desired capacity. Every method is called with the API's lock held."""

    def __init__(self, backend: AutoScalingBackend, machines: Machines, retry_s: float) -> None:
        self.backend = backend
        self.machines = machines
        self.retry_s = retry_s
        self._activities: dict[str, deque[Activity]] = {}
        self._under_way: dict[tuple[str, str], Activity] = {}
        self._not_before: dict[tuple[str, str], float] = {}

    def activities(self, group_name: str | None) -> list[Activity]:
        """The activities of one group or of all, newest first."""
        names = [group_name] if group_name else list(self._activities)
        found = [activity for name in names for activity in self._activities.get(name, ())]
        return sorted(found, key=lambda activity: activity.start_time, reverse=True)

    def tick(self) -> None:
        """Bring every group one step nearer to what it shall be."""
        for group in list(self.backend.autoscaling_groups.values()):
            self._follow_instances(group)
            self._launch_or_terminate(group)
        gone = set(self._activities) - set(self.backend.autoscaling_groups)
        for name in gone:
            del self._activities[name]

    def wanted_changed(self, group: FakeAutoScalingGroup) -> None:
        """A new desired capacity is tried at once, whatever failed before."""
        self._not_before = {key: when for key, when in self._not_before.items() if key[0] != group.name}

    def terminate_member(self, instance_id: str, decrement: bool) -> dict[str, Any]:
        """TerminateInstanceInAutoScalingGroup; returns the activity."""
        group, member = self._member(instance_id)
        if decrement:
            if group.desired_capacity is not None and group.desired_capacity <= (group.min_size or 0):
                raise ValidationError(
                    f"Currently, desiredSize equals minSize ({group.min_size}). "
                    "Terminating instance without replacement will violate group's min size constraint."
                )
            group.desired_capacity = (group.desired_capacity or 0) - 1
        return self._terminate(group, member, "was taken out of service in response to a user request").to_api()

    def delete_group(self, name: str, force: bool) -> None:
        """DeleteAutoScalingGroup: its instances go with it if forced, else there must be none."""
        group = self.backend.autoscaling_groups.get(name)
        if group is None:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        self._follow_instances(group)
        if group.instance_states and not force:
            raise ServiceException(
                "ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances still in the group."
            )
        for member in group.instance_states:
            self.machines.terminate(member.instance)
        del self.backend.autoscaling_groups[name]

    def _member(self, instance_id: str) -> tuple[FakeAutoScalingGroup, InstanceState]:
        for group in self.backend.autoscaling_groups.values():
            for member in group.instance_states:
                if member.instance.id == instance_id:
                    return group, member
        raise ValidationError(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")

    # What has become of the members

    def _follow_instances(self, group: FakeAutoScalingGroup) -> None:
        for member in list(group.instance_states):
            state = member.instance._state.name
            if state == RUNNING and member.lifecycle_state == WAITING:
                member.lifecycle_state = IN_SERVICE
                self._end_activity(group, member, "Successful")
            elif state == TERMINATED or self.machines.get(member.instance.id) is None:
                self._leave(group, member)
            elif member.lifecycle_state != TERMINATING and _has_failed(member):
                self._give_up(group, member)

    def _give_up(self, group: FakeAutoScalingGroup, member: InstanceState) -> None:
        if member.lifecycle_state == WAITING:
            self._end_activity(group, member, "Failed", member.instance.state_reason.message)
            self._delay(group, "Launch")
        member.health_status = "Unhealthy"
        state = member.instance._state.name
        self._terminate(group, member, f"was taken out of service in response to an EC2 health check ({state})")

    def _leave(self, group: FakeAutoScalingGroup, member: InstanceState) -> None:
        if member.lifecycle_state == WAITING:
            self._delay(group, "Launch")
            self._end_activity(group, member, "Failed", member.instance.state_reason.message)
        self._end_activity(group, member, "Successful")
        group.instance_states = [other for other in group.instance_states if other is not member]

    # What the group does about it

    def _launch_or_terminate(self, group: FakeAutoScalingGroup) -> None:
        present = [member for member in group.instance_states if member.lifecycle_state in (WAITING, IN_SERVICE)]
        missing = (group.desired_capacity or 0) - len(present)
        if missing > 0 and self._may(group, "Launch"):
            self._launch(group, missing, len(present))
        elif missing < 0 and self._may(group, "Terminate"):
            self._shrink(group, present, -missing)

    def _may(self, group: FakeAutoScalingGroup, process: str) -> bool:
        suspended = process in group._suspended_processes
        return not suspended and time.monotonic() >= self._not_before.get((group.name, process), 0.0)

    def _delay(self, group: FakeAutoScalingGroup, process: str) -> None:
        self._not_before[group.name, process] = time.monotonic() + self.retry_s

    def _launch(self, group: FakeAutoScalingGroup, missing: int, present: int) -> None:
        cause = (
            f"At {_stamp()} an instance was started in response to a difference between desired and actual capacity, "
            f"increasing the capacity from {present} to {group.desired_capacity}."
        )
        for _ in range(missing):
            try:
                self._launch_one(group, cause)
            except (EC2ClientError, ServiceException) as error:
                self._fail(group, f"Launching a new EC2 instance.  Status Reason: {_message(error)}", cause, error)
                return

    def _launch_one(self, group: FakeAutoScalingGroup, cause: str) -> None:
        flavor, zone = group.instance_type, group.availability_zones[0]
        if self.machines.room(flavor) == 0:
            raise EC2ClientError("InsufficientInstanceCapacity", no_capacity(flavor, zone))
        reservation = run_instances(
            self.machines, group.ec2_backend, group.image_id, 1, group.user_data, group.security_groups,
            tags={"instance": self._tags(group)}, instance_type=flavor, is_instance_type_default=False,
            launch_template=_template_of(group), launch_config=group.launch_config, subnet_id=self._subnet(group),
            associate_public_ip=None, **({} if group.vpc_zone_identifier else {"placement": zone}),
        )  # fmt: skip
        instance: Any = reservation.instances[0]
        instance.autoscaling_group = group
        if group.placement_group:
            instance._placement.group_name = group.placement_group
        member = InstanceState(
            instance, lifecycle_state=WAITING, protected_from_scale_in=group.new_instances_protected_from_scale_in
        )
        group.instance_states.append(member)
        self._begin_activity(group, member, f"Launching a new EC2 instance: {instance.id}", cause)

    def _tags(self, group: FakeAutoScalingGroup) -> dict[str, str]:
        tags = {**group.instance_tags, **group.get_propagated_tags(), ASG_NAME_TAG: group.name}
        if group.ec2_launch_template:
            tags["aws:ec2launchtemplate:id"] = group.ec2_launch_template.id
            version = group.ec2_launch_template.get_version(group.launch_template_version)
            tags["aws:ec2launchtemplate:version"] = str(version.number)
        return tags

    def _subnet(self, group: FakeAutoScalingGroup) -> str | None:
        """The group's subnet with the fewest of its instances, so that they spread over the zones."""
        if not group.vpc_zone_identifier:
            return None
        subnets = group.vpc_zone_identifier.split(",")
        used = [member.instance.subnet_id for member in group.instance_states if member.lifecycle_state != TERMINATING]
        return min(subnets, key=used.count)

    def _shrink(self, group: FakeAutoScalingGroup, present: list[InstanceState], surplus: int) -> None:
        candidates = [member for member in present if not member.protected_from_scale_in]
        newest_first = "NewestInstance" in group.termination_policies
        candidates.sort(key=lambda member: member.instance.launch_time, reverse=newest_first)
        if "Default" in group.termination_policies or "OldestLaunchTemplate" in group.termination_policies:
            candidates.sort(key=lambda member: _template_version(member))  # stable: within a version the oldest first
        for member in candidates[:surplus]:
            self._terminate(
                group, member, "was selected for termination in response to a difference between desired and actual "
                f"capacity, shrinking the capacity from {len(present)} to {group.desired_capacity}",
            )  # fmt: skip
        if len(candidates) < surplus:
            cause = f"At {_stamp()} a user request changed the desired capacity to {group.desired_capacity}."
            self._fail(group, "Terminating EC2 instances", cause, ValidationError(PROTECTED), process="Terminate")

    def _terminate(self, group: FakeAutoScalingGroup, member: InstanceState, why: str) -> Activity:
        member.lifecycle_state = TERMINATING
        self.machines.terminate(member.instance)
        instance_id = member.instance.id
        return self._begin_activity(
            group, member, f"Terminating EC2 instance: {instance_id}", f"At {_stamp()} instance {instance_id} {why}."
        )

    # The record of it

    def _fail(
        self, group: FakeAutoScalingGroup, description: str, cause: str, error: Exception, process: str = "Launch"
    ) -> None:
        activity = Activity(group, description, cause)
        suffix = " Launching EC2 instance failed." if process == "Launch" else ""
        activity.end("Failed", _message(error) + suffix)
        self._keep(group, activity)
        self._delay(group, process)
        log.info("group %s: %s", group.name, activity.status_message)

    def _begin_activity(
        self, group: FakeAutoScalingGroup, member: InstanceState, description: str, cause: str
    ) -> Activity:
        activity = Activity(group, description, cause)
        self._under_way[group.name, member.instance.id] = activity
        self._keep(group, activity)
        return activity

    def _end_activity(
        self, group: FakeAutoScalingGroup, member: InstanceState, status: str, message: str | None = None
    ) -> None:
        activity = self._under_way.pop((group.name, member.instance.id), None)
        if activity:
            activity.end(status, message)

    def _keep(self, group: FakeAutoScalingGroup, activity: Activity) -> None:
        self._activities.setdefault(group.name, deque(maxlen=ACTIVITIES_KEPT)).append(activity)


def _has_failed(member: InstanceState) -> bool:
    return member.instance._state.name not in (PENDING, RUNNING) or member.health_status == "Unhealthy"


def _template_of(group: FakeAutoScalingGroup) -> dict[str, Any] | None:
    template = group.ec2_launch_template
    if not template:
        return None
    version = template.get_version(group.launch_template_version).number
    return {"LaunchTemplateId": template.id, "Version": str(version)}


def _template_version(member: InstanceState) -> int:
    tags = {tag["key"]: tag["value"] for tag in member.instance.get_tags()}
    return int(tags.get("aws:ec2launchtemplate:version", 0))


def _message(error: Exception) -> str:
    return str(getattr(error, "message", "") or getattr(error, "description", "") or error)


def _stamp() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
