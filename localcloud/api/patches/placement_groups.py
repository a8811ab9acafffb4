"""The three actions of placement groups."""

from __future__ import annotations

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

from localcloud.api.ec2.placement_groups import PREFIX, PlacementGroups
from localcloud.api.patches.replace import replace

RESOURCE = "placement-group"


def patch_placement_groups(groups: PlacementGroups) -> None:
    """Adds the actions, and makes the ids of placement groups known to CreateTags."""
    EC2_RESOURCE_TO_PREFIX[RESOURCE] = PREFIX
    EC2_PREFIX_TO_RESOURCE[PREFIX] = RESOURCE

    def create_placement_group(response: EC2Response) -> ActionResult:
        group = groups.create(
            response._get_param("GroupName"),
            response._get_param("Strategy"),
            response._get_int_param("PartitionCount"),
            response._get_param("SpreadLevel"),
            response._parse_tag_specification(RESOURCE).get(RESOURCE, {}),
        )
        return ActionResult({"PlacementGroup": group})

    def describe_placement_groups(response: EC2Response) -> ActionResult:
        found = groups.describe(
            response._get_param("GroupNames", []),
            response._get_param("GroupIds", []),
            response._filters_from_querystring(),
        )
        return ActionResult({"PlacementGroups": found})

    def delete_placement_group(response: EC2Response) -> ActionResult:
        groups.delete(response._get_param("GroupName"))
        return EmptyResult()

    for action in (create_placement_group, describe_placement_groups, delete_placement_group):
        replace(EC2Response, action.__name__, action)
