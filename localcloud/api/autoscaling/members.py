"""The instances in a group, and their lifecycle states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState

from localcloud.api.ec2.states import PENDING, RUNNING, state_of

WAITING = "Pending"
IN_SERVICE = "InService"
TERMINATING = "Terminating"


class Member(InstanceState):
    """An instance in a group.

    It keeps the version of the launch template that it was launched from. moto shows the group's present version.
    """

    def __init__(self, instance: Any, group: FakeAutoScalingGroup) -> None:
        instance.autoscaling_group = group
        super().__init__(instance, WAITING, protected_from_scale_in=group.new_instances_protected_from_scale_in)
        self._launched_from = super().launch_template if group.ec2_launch_template else None
        if self._launched_from and group.ec2_launch_template:
            self._launched_from["Version"] = str(template_version(group))

    @property
    def launch_template(self) -> dict[str, Any] | None:
        """The id, the name and the version of its launch template."""
        return self._launched_from

    @property
    def version(self) -> int:
        """The version of its launch template; 0 without a template."""
        return int(self._launched_from["Version"]) if self._launched_from else 0


def template_version(group: FakeAutoScalingGroup) -> int:
    """Returns the version of the launch template that the group launches from. The group must have a template."""
    assert group.ec2_launch_template
    return int(group.ec2_launch_template.get_version(group.launch_template_version).number)


def version_of(member: InstanceState) -> int:
    """Returns the version of the launch template that a member was launched from; 0 if it is not known."""
    return member.version if isinstance(member, Member) else 0


def present_in(group: FakeAutoScalingGroup) -> list[InstanceState]:
    """Returns the members that count towards the desired capacity."""
    return [member for member in group.instance_states if member.lifecycle_state in (WAITING, IN_SERVICE)]


def check_protectable(group: FakeAutoScalingGroup, instance_ids: Iterable[str]) -> None:
    """Raises ValidationError for an instance that is not in service: EC2 changes the protection of no other."""
    in_service = {member.instance.id for member in group.instance_states if member.lifecycle_state == IN_SERVICE}
    for instance_id in instance_ids:
        if instance_id not in in_service:
            raise ValidationError(f"The instance {instance_id} is not in InService or EnteringStandby or Standby.")


def has_failed(member: InstanceState) -> bool:
    """Returns whether a member has to be replaced."""
    return state_of(member.instance) not in (PENDING, RUNNING) or member.health_status == "Unhealthy"
