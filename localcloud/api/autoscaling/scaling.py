"""Auto Scaling: groups that work towards their desired capacity, and show in their activities how that went.

moto launches and terminates inside the call of the API, and never fails. Here a call only says what is wanted. `tick`
compares that with what is there, as the real service does.
"""

from __future__ import annotations

import logging

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, InstanceState
from moto.core.exceptions import ServiceException
from moto.ec2.exceptions import EC2ClientError

from localcloud.api.autoscaling.activities import Activities, Activity, at_this_time
from localcloud.api.autoscaling.members import IN_SERVICE, TERMINATING, WAITING, Member, has_failed, present_in
from localcloud.api.autoscaling.next_launch import next_launch
from localcloud.api.autoscaling.retries import Process, Retries
from localcloud.api.autoscaling.scale_in import in_order_of_termination
from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.launch import run_instances
from localcloud.api.ec2.states import RUNNING, TERMINATED, state_of

PROTECTED = "Could not scale to desired capacity because all remaining instances are protected from scale in."

log = logging.getLogger("localcloud.scaling")


class Scaling:
    """Keeps every group at its desired capacity. Every method is called with the API's lock held."""

    def __init__(self, backend: AutoScalingBackend, instances: Instances, retry_s: float) -> None:
        self.backend = backend
        self.instances = instances
        self.activities = Activities()
        self.retries = Retries(retry_s)

    def tick(self) -> None:
        """Brings every group one step nearer to its desired capacity."""
        for group in list(self.backend.autoscaling_groups.values()):
            self.follow_instances(group)
            self._launch_or_terminate(group)

    def follow_instances(self, group: FakeAutoScalingGroup) -> None:
        """Updates the members of a group after changes of their instances, and terminates those that have failed."""
        for member in list(group.instance_states):
            state = state_of(member.instance)
            if state == RUNNING and member.lifecycle_state == WAITING:
                member.lifecycle_state = IN_SERVICE
                self.activities.end(member.instance.id, "Successful")
            elif member.lifecycle_state != TERMINATING and has_failed(member):
                self._give_up(group, member)
            elif state == TERMINATED or self.instances.get(member.instance.id) is None:
                self.activities.end(member.instance.id, "Successful")
                group.instance_states = [other for other in group.instance_states if other is not member]

    def terminate(self, group: FakeAutoScalingGroup, member: InstanceState, why: str) -> Activity:
        """Begins to terminate a member, and returns the activity. `why` completes the sentence "instance i-1 …"."""
        member.lifecycle_state = TERMINATING
        self.instances.terminate(member.instance)
        instance_id = member.instance.id
        cause = f"{at_this_time()} instance {instance_id} {why}."
        return self.activities.begin(group, instance_id, f"Terminating EC2 instance: {instance_id}", cause)

    def _give_up(self, group: FakeAutoScalingGroup, member: InstanceState) -> None:
        if member.lifecycle_state == WAITING:
            self.activities.end(member.instance.id, "Failed", member.instance.state_reason.message)
            self.retries.pause(group.name, "Launch")
        member.health_status = "Unhealthy"
        state = state_of(member.instance)
        self.terminate(group, member, f"was taken out of service in response to an EC2 health check ({state})")

    def _launch_or_terminate(self, group: FakeAutoScalingGroup) -> None:
        present = present_in(group)
        missing = (group.desired_capacity or 0) - len(present)
        if missing > 0 and self._may(group, "Launch"):
            self._launch(group, present, missing)
        elif missing < 0 and self._may(group, "Terminate"):
            self._shrink(group, present, -missing)

    def _may(self, group: FakeAutoScalingGroup, process: Process) -> bool:
        return process not in group._suspended_processes and self.retries.may_try(group.name, process)

    def _launch(self, group: FakeAutoScalingGroup, present: list[InstanceState], missing: int) -> None:
        cause = (
            f"{at_this_time()} an instance was started in response to a difference between desired and actual "
            f"capacity, increasing the capacity from {len(present)} to {group.desired_capacity}."
        )
        for _ in range(missing):
            try:
                present.append(self._launch_one(group, present, cause))
            except (ServiceException, EC2ClientError) as error:
                description = f"Launching a new EC2 instance.  Status Reason: {error.message}"
                message = f"{error.message} Launching EC2 instance failed."
                self._fail(group, "Launch", description, cause, message)
                return

    def _launch_one(self, group: FakeAutoScalingGroup, present: list[InstanceState], cause: str) -> Member:
        arguments = next_launch(group, present, self.instances)
        reservation = run_instances(
            self.instances, group.ec2_backend, group.image_id, 1, group.user_data, group.security_groups, **arguments
        )
        instance = reservation.instances[0]
        if group.placement_group:
            instance._placement.group_name = group.placement_group
        member = Member(instance, group)
        group.instance_states.append(member)
        self.activities.begin(group, instance.id, f"Launching a new EC2 instance: {instance.id}", cause)
        return member

    def _shrink(self, group: FakeAutoScalingGroup, present: list[InstanceState], surplus: int) -> None:
        candidates = in_order_of_termination(present, group.termination_policies)
        why = (
            "was selected for termination in response to a difference between desired and actual capacity, "
            f"shrinking the capacity from {len(present)} to {group.desired_capacity}"
        )
        for member in candidates[:surplus]:
            self.terminate(group, member, why)
        if len(candidates) < surplus:
            cause = f"{at_this_time()} a user request changed the desired capacity to {group.desired_capacity}."
            self._fail(group, "Terminate", "Terminating EC2 instances", cause, PROTECTED)

    def _fail(self, group: FakeAutoScalingGroup, process: Process, description: str, cause: str, message: str) -> None:
        self.activities.fail(group, description, cause, message)
        self.retries.pause(group.name, process)
        log.info("group %s: %s", group.name, message)
