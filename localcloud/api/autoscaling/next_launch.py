"""What a group launches next: flavor, market, version of the launch template and subnet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from moto.autoscaling.models import ASG_NAME_TAG, FakeAutoScalingGroup, InstanceState

from localcloud.api.autoscaling.members import template_version
from localcloud.api.ec2.capacity import room
from localcloud.api.ec2.instances import Instances

TEMPLATE_ID_TAG = "aws:ec2launchtemplate:id"
TEMPLATE_VERSION_TAG = "aws:ec2launchtemplate:version"


def next_launch(group: FakeAutoScalingGroup, members: Sequence[InstanceState], instances: Instances) -> dict[str, Any]:
    """Returns the arguments of `run_instances` for a group's next instance.

    Args:
        group: the group.
        members: the instances that the group has.
        instances: all instances, for the room that each flavor has left.
    """
    arguments: dict[str, Any] = {
        "tags": {"instance": _tags(group)},
        "instance_type": _flavor(group, instances),
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


def _flavor(group: FakeAutoScalingGroup, instances: Instances) -> str:
    """Returns the first flavor of the group's policy that has room left, or the template's if the policy names none."""
    template = (group.mixed_instances_policy or {}).get("LaunchTemplate", {})
    overrides = template.get("Overrides") or []
    flavors: list[str] = [entry["InstanceType"] for entry in overrides if entry.get("InstanceType")]
    flavors = flavors or [group.instance_type]
    return next((flavor for flavor in flavors if room(instances, flavor) != 0), flavors[0])


def _wants_spot(group: FakeAutoScalingGroup, members: Sequence[InstanceState]) -> bool:
    """Returns whether the group's policy makes the next instance a spot instance."""
    distribution = (group.mixed_instances_policy or {}).get("InstancesDistribution") or {}
    base = int(distribution.get("OnDemandBaseCapacity") or 0)
    percentage = distribution.get("OnDemandPercentageAboveBaseCapacity")
    above = max(0, len(members) + 1 - base)
    on_demand_wanted = base + math.ceil(above * (100 if percentage is None else int(percentage)) / 100)
    on_demand = sum(member.instance.lifecycle != "spot" for member in members)
    return on_demand >= min(on_demand_wanted, len(members) + 1)
