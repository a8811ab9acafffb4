"""What a group launches next: flavor, market, template version and subnet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from moto.autoscaling.models import ASG_NAME_TAG, FakeAutoScalingGroup, InstanceState

from localcloud.api.ec2.lifecycle import Machines

TEMPLATE_ID_TAG = "aws:ec2launchtemplate:id"
TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:version"


class Member(InstanceState):
    """An instance in a group. It keeps the template that it was launched from; moto shows the group's at present."""

    def __init__(self, instance: Any, group: FakeAutoScalingGroup, lifecycle_state: str) -> None:
        instance.autoscaling_group = group
        super().__init__(instance, lifecycle_state, protected_from_scale_in=group.new_instances_protected_from_scale_in)
        self._launched_from = super().launch_template if group.ec2_launch_template else None
        if self._launched_from and group.ec2_launch_template:
            self._launched_from["Version"] = str(template_version(group))

    @property
    def launch_template(self) -> dict[str, Any] | None:
        """Id, name and version of its launch template."""
        return self._launched_from

    @property
    def version(self) -> int:
        """The version of its launch template, 0 without one."""
        return int(self._launched_from["Version"]) if self._launched_from else 0


def template_version(group: FakeAutoScalingGroup) -> int:
    """The number of the version that the group launches from; the group must have a template."""
    assert group.ec2_launch_template
    return int(group.ec2_launch_template.get_version(group.launch_template_version).number)


def next_launch(group: FakeAutoScalingGroup, members: Sequence[InstanceState], machines: Machines) -> dict[str, Any]:
    """The arguments of RunInstances for a group's next instance, given those that it has."""
    arguments: dict[str, Any] = {
        "tags": {"instance": _tags(group)},
        "instance_type": _flavor(group, machines),
        "is_instance_type_default": False,
        "launch_config": group.launch_config,
        "associate_public_ip": group.launch_config.associate_public_ip_address if group.launch_config else None,
    }
    if group.ec2_launch_template:
        version = str(template_version(group))
        arguments["launch_template"] = {"LaunchTemplateId": group.ec2_launch_template.id, "Version": version}
    if group.vpc_zone_identifier:
        # The subnet with the fewest of the group's instances, so that they spread over the zones.
        used = [member.instance.subnet_id for member in members]
        arguments["subnet_id"] = min(group.vpc_zone_identifier.split(","), key=used.count)
    else:
        arguments["placement"] = group.availability_zones[0]
    if _wants_spot(group, members):
        arguments["instance_market_options"] = "spot"
    return arguments


def _tags(group: FakeAutoScalingGroup) -> dict[str, str]:
    tags = {**group.instance_tags, **group.get_propagated_tags(), ASG_NAME_TAG: group.name}
    if group.ec2_launch_template:
        tags[TEMPLATE_ID_TAG] = group.ec2_launch_template.id
        tags[TEMPLATE_VERSION_TAG] = str(template_version(group))
    return tags


def _flavor(group: FakeAutoScalingGroup, machines: Machines) -> str:
    """The first of the policy's flavors that there is room for; the template's when the policy names none."""
    template = (group.mixed_instances_policy or {}).get("LaunchTemplate", {})
    flavors: list[str] = [
        entry["InstanceType"] for entry in template.get("Overrides") or [] if entry.get("InstanceType")
    ]
    flavors = flavors or [group.instance_type]
    return next((flavor for flavor in flavors if machines.room(flavor) != 0), flavors[0])


def _wants_spot(group: FakeAutoScalingGroup, members: Sequence[InstanceState]) -> bool:
    """Whether the mixed instances policy makes the next instance a spot instance."""
    distribution = (group.mixed_instances_policy or {}).get("InstancesDistribution") or {}
    base = int(distribution.get("OnDemandBaseCapacity") or 0)
    percentage = distribution.get("OnDemandPercentageAboveBaseCapacity")
    above = max(0, len(members) + 1 - base)
    on_demand_wanted = base + math.ceil(above * (100 if percentage is None else int(percentage)) / 100)
    on_demand = sum(member.instance.lifecycle != "spot" for member in members)
    return on_demand >= min(on_demand_wanted, len(members) + 1)
