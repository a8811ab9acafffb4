"""From a launch template to an instance: what moto leaves out of it, both for RunInstances and for groups."""

from __future__ import annotations

import copy
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.utils import convert_tag_spec

from localcloud.api.ec2.lifecycle import Machines
from localcloud.api.ec2.quotas import check_quota

run_moto_instances = EC2Backend.run_instances


def no_capacity(flavor: str, zone: str) -> str:
    """EC2's words for it."""
    return (
        f"We currently do not have sufficient {flavor} capacity in the Availability Zone you requested ({zone}). "
        "Our system will be working on provisioning additional capacity."
    )


def run_instances(
    machines: Machines,
    ec2: EC2Backend,
    image_id: str | None,
    count: int,
    user_data: str | None,
    security_group_names: list[str],
    **request: Any,
) -> Any:
    """RunInstances: the request's own values first, the launch template's for the rest. Returns moto's reservation.

    Raises EC2's errors: InsufficientInstanceCapacity when a flavor is configured to have no room for all of them,
    VcpuLimitExceeded or MaxSpotInstanceCountExceeded when they are more than the quota allows.
    """
    template = _template(ec2, request.get("launch_template"))
    filled = {**request, **_from_template(template, request)}
    check_quota(machines, filled["instance_type"], filled.get("instance_market_options") == "spot", count)
    _check_room(machines, filled["instance_type"], filled.get("placement") or f"{ec2.region_name}a", count)
    given = {nic.get("NetworkInterfaceId") for nic in filled.get("nics", [])}
    reservation = run_moto_instances(
        ec2,
        image_id or template.get("ImageId", ""),
        count,
        user_data or template.get("UserData"),
        security_group_names,
        **filled,
    )
    profile = {} if _names_profile(request) else template.get("IamInstanceProfile", {})
    for instance in reservation.instances:
        _complete(ec2, instance, template, given, profile)
        machines.adopt(instance)
    return reservation


def _template(ec2: EC2Backend, reference: dict[str, Any] | None) -> dict[str, Any]:
    if not reference:
        return {}
    return copy.deepcopy(ec2._get_template_from_args(reference).data)


def _from_template(template: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The arguments of moto's run_instances that the request left to the template."""
    interfaces = template.get("NetworkInterfaces", [])
    for index, interface in enumerate(interfaces):
        interface.setdefault("DeviceIndex", index)
    placement = template.get("Placement", {})
    offered = {
        "key_name": template.get("KeyName"),
        "security_group_ids": template.get("SecurityGroupIds"),
        "nics": interfaces,
        "placement": placement.get("AvailabilityZone"),
        "ebs_optimized": template.get("EbsOptimized"),
        "instance_market_options": template.get("InstanceMarketOptions", {}).get("MarketType"),
        "instance_initiated_shutdown_behavior": template.get("InstanceInitiatedShutdownBehavior"),
        "metadata_options": template.get("MetadataOptions"),
        "disable_api_termination": template.get("DisableApiTermination"),
        "disable_api_stop": template.get("DisableApiStop"),
    }
    filled = {name: value for name, value in offered.items() if value and not request.get(name)}
    if template.get("Monitoring", {}).get("Enabled"):
        filled["monitoring_state"] = "enabled"
    if template.get("InstanceType") and request.get("is_instance_type_default", True):
        filled |= {"instance_type": template["InstanceType"], "is_instance_type_default": False}
    tags = convert_tag_spec(template.get("TagSpecifications", []))
    for kind, own in (request.get("tags") or {}).items():
        tags[kind] = {**tags.get(kind, {}), **own}
    return {**filled, "tags": tags}


def _check_room(machines: Machines, flavor: str, zone: str, count: int) -> None:
    room = machines.room(flavor)
    if room is not None and room < count:
        raise EC2ClientError("InsufficientInstanceCapacity", no_capacity(flavor, zone))


def _names_profile(request: dict[str, Any]) -> bool:
    return bool(request.get("iam_instance_profile_name") or request.get("iam_instance_profile_arn"))


def _complete(
    ec2: EC2Backend, instance: Instance, template: dict[str, Any], given: set[Any], profile: dict[str, str]
) -> None:
    for nic in instance.nics.values():
        # EC2 deletes the interfaces that it made for an instance with it; moto would leave them, and their addresses.
        nic.delete_on_termination = nic.id not in given
    if not instance.security_groups and instance.nics:
        # Groups that were named for the interface are the instance's too; moto keeps them apart.
        instance.security_groups = list(instance.nics[0]._group_set)
    group = template.get("Placement", {}).get("GroupName")
    if group:
        instance._placement.group_name = group
    if profile:
        ec2.associate_iam_instance_profile(
            instance_id=instance.id,
            iam_instance_profile_name=profile.get("Name"),
            iam_instance_profile_arn=profile.get("Arn"),
        )
