"""Auto Scaling: groups that work towards their desired capacity, and tell in their activities how that went.

moto launches and terminates inside the API call, and knows no failure. Here a call only says what is wanted;
`Scaling.tick` compares that with what is there, as the real service does.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, InstanceState
from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError

from localcloud.api.autoscaling.activities import Activities, Activity, stamp
from localcloud.api.autoscaling.next_launch import Member, next_launch
from localcloud.api.ec2.launch import run_instances
from localcloud.api.ec2.lifecycle import PENDING, RUNNING, TERMINATED, Machines

WAITING, IN_SERVICE, TERMINATING = "Pending", "InService", "Terminating"
PROTECTED = "Could not scale to desired capacity because all remaining instances are protected from scale in."

log = logging.getLogger("localcloud.scaling")


class ResourceInUseError(ServiceException):
    """DeleteAutoScalingGroup on a group that still has instances."""

    code = "ResourceInUse"


class Scaling:
    """Keeps every group at its desired capacity. Every method is called with the API's lock held."""

    def __init__(self, backend: AutoScalingBackend, machines: Machines, retry_s: float) -> None:
        self.backend = backend
        self.machines = machines
        self.retry_s = retry_s
        self.activities = Activities()
        self._not_before: dict[tuple[str, str], float] = {}
        self._deleted: set[str] = set()

    def tick(self) -> None:
        """Bring every group one step nearer to what it shall be."""
        for group in list(self.backend.autoscaling_groups.values()):
            self._follow_instances(group)
            self._launch_or_terminate(group)
            self._delete_if_empty(group)
        self.activities.forget_all_but(set(self.backend.autoscaling_groups))

    def want(self, group: FakeAutoScalingGroup, capacity: int | None) -> None:
        """Set a group's desired capacity; raises the API's ValidationError when it is outside its limits."""
        wanted = capacity if capacity is not None else group.min_size
        if wanted is None or not (group.min_size or 0) <= wanted <= (group.max_size or 0):
            raise ValidationError(
                f"Desired capacity:{wanted} must be between the specified min size:{group.min_size} "
                f"and max size:{group.max_size}"
            )
        if wanted != getattr(group, "desired_capacity", None):
            self.try_at_once(group)
        group.desired_capacity = wanted

    def try_at_once(self, group: FakeAutoScalingGroup) -> None:
        """Whatever failed before, the next tick tries again."""
        self._not_before = {key: when for key, when in self._not_before.items() if key[0] != group.name}

    def terminate_member(self, instance_id: str, decrement: bool) -> Activity:
        """TerminateInstanceInAutoScalingGroup."""
        group, member = self._member(instance_id)
        if decrement:
            desired = group.desired_capacity or 0
            if desired <= (group.min_size or 0):
                raise ValidationError(
                    f"Currently, desiredSize equals minSize ({group.min_size}). "
                    "Terminating instance without replacement will violate group's min size constraint."
                )
            group.desired_capacity = desired - 1
        return self._terminate(group, member, "was taken out of service in response to a user request")

    def delete_group(self, name: str, force: bool) -> None:
        """DeleteAutoScalingGroup: its instances go with it if forced, else there must be none.

        The group is there until the last of them is terminated.
        """
        group = self.backend.autoscaling_groups.get(name)
        if group is None:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        self._follow_instances(group)
        if group.instance_states and not force:
            raise ResourceInUseError(
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
                "still in the group."
            )
        group.min_size = group.desired_capacity = 0
        self._deleted.add(name)
        for member in group.instance_states:
            if member.lifecycle_state != TERMINATING:
                self._terminate(group, member, "was taken out of service as its group is deleted")
        self._delete_if_empty(group)

    def _delete_if_empty(self, group: FakeAutoScalingGroup) -> None:
        if group.name in self._deleted and not group.instance_states:
            self._deleted.remove(group.name)
            del self.backend.autoscaling_groups[group.name]

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
                self.activities.end(member.instance.id, "Successful")
            elif member.lifecycle_state != TERMINATING and _has_failed(member):
                self._give_up(group, member)
            elif state == TERMINATED or self.machines.get(member.instance.id) is None:
                self.activities.end(member.instance.id, "Successful")
                group.instance_states = [other for other in group.instance_states if other is not member]

    def _give_up(self, group: FakeAutoScalingGroup, member: InstanceState) -> None:
        if member.lifecycle_state == WAITING:
            self.activities.end(member.instance.id, "Failed", member.instance.state_reason.message)
            self._delay(group, "Launch")
        member.health_status = "Unhealthy"
        state = member.instance._state.name
        self._terminate(group, member, f"was taken out of service in response to an EC2 health check ({state})")

    # What the group does about it

    def _launch_or_terminate(self, group: FakeAutoScalingGroup) -> None:
        present = [member for member in group.instance_states if member.lifecycle_state in (WAITING, IN_SERVICE)]
        missing = (group.desired_capacity or 0) - len(present)
        if missing > 0 and self._may(group, "Launch"):
            self._launch(group, present, missing)
        elif missing < 0 and self._may(group, "Terminate"):
            self._shrink(group, present, -missing)

    def _may(self, group: FakeAutoScalingGroup, process: str) -> bool:
        suspended = process in group._suspended_processes
        return not suspended and time.monotonic() >= self._not_before.get((group.name, process), 0.0)

    def _delay(self, group: FakeAutoScalingGroup, process: str) -> None:
        self._not_before[group.name, process] = time.monotonic() + self.retry_s

    def _launch(self, group: FakeAutoScalingGroup, present: list[InstanceState], missing: int) -> None:
        cause = (
            f"At {stamp()} an instance was started in response to a difference between desired and actual capacity, "
            f"increasing the capacity from {len(present)} to {group.desired_capacity}."
        )
        for _ in range(missing):
            try:
                present.append(self._launch_one(group, present, cause))
            except (ServiceException, EC2ClientError) as error:
                self._fail(group, "Launch", "Launching a new EC2 instance", cause, str(error.message))
                return

    def _launch_one(self, group: FakeAutoScalingGroup, present: list[InstanceState], cause: str) -> Member:
        arguments = next_launch(group, present, self.machines)
        reservation = run_instances(
            self.machines, group.ec2_backend, group.image_id, 1, group.user_data, group.security_groups, **arguments
        )
        instance = reservation.instances[0]
        if group.placement_group:
            instance._placement.group_name = group.placement_group
        member = Member(instance, group, WAITING)
        group.instance_states.append(member)
        self.activities.begin(group, instance.id, f"Launching a new EC2 instance: {instance.id}", cause)
        return member

    def _shrink(self, group: FakeAutoScalingGroup, present: list[InstanceState], surplus: int) -> None:
        candidates = [member for member in present if not member.protected_from_scale_in]
        candidates.sort(
            key=lambda member: member.instance.launch_time, reverse="NewestInstance" in group.termination_policies
        )
        if {"Default", "OldestLaunchTemplate"} & set(group.termination_policies):
            candidates.sort(key=_version)  # stable: of one version the oldest first
        why = (
            "was selected for termination in response to a difference between desired and actual capacity, "
            f"shrinking the capacity from {len(present)} to {group.desired_capacity}"
        )
        for member in candidates[:surplus]:
            self._terminate(group, member, why)
        if len(candidates) < surplus:
            cause = f"At {stamp()} a user request changed the desired capacity to {group.desired_capacity}."
            self._fail(group, "Terminate", "Terminating EC2 instances", cause, PROTECTED)

    def _terminate(self, group: FakeAutoScalingGroup, member: InstanceState, why: str) -> Activity:
        member.lifecycle_state = TERMINATING
        self.machines.terminate(member.instance)
        instance_id = member.instance.id
        cause = f"At {stamp()} instance {instance_id} {why}."
        return self.activities.begin(group, instance_id, f"Terminating EC2 instance: {instance_id}", cause)

    def _fail(self, group: FakeAutoScalingGroup, process: str, description: str, cause: str, message: str) -> None:
        if process == "Launch":
            description = f"{description}.  Status Reason: {message}"
            message = f"{message} Launching EC2 instance failed."
        self.activities.fail(group, description, cause, message)
        self._delay(group, process)
        log.info("group %s: %s", group.name, message)


def _has_failed(member: InstanceState) -> bool:
    return member.instance._state.name not in (PENDING, RUNNING) or member.health_status == "Unhealthy"


def _version(member: InstanceState) -> int:
    return member.version if isinstance(member, Member) else 0


def update_rest(group: FakeAutoScalingGroup, request: dict[str, Any]) -> None:
    """The entries of UpdateAutoScalingGroup that moto 5.1 drops."""
    policy = request.get("MixedInstancesPolicy")
    if policy:
        group.mixed_instances_policy = policy
        group._set_launch_configuration("", {}, policy)
    if "PlacementGroup" in request:
        group.placement_group = request["PlacementGroup"] or None
    if request.get("TerminationPolicies"):
        group.termination_policies = request["TerminationPolicies"]
    if request.get("DefaultCooldown") is not None:
        group.default_cooldown = int(request["DefaultCooldown"])
    if request.get("CapacityRebalance") is not None:
        group.capacity_rebalance = request["CapacityRebalance"]
    if request.get("LaunchTemplate"):
        group.mixed_instances_policy = None
    limited = min(max(group.desired_capacity or 0, group.min_size or 0), group.max_size or 0)
    if limited != group.desired_capacity:
        group.set_desired_capacity(limited)
