"""RunInstances with all of a launch template, for calls of the API and for Auto Scaling groups."""

from __future__ import annotations

import copy
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.utils import convert_tag_spec

from localcloud.api.ec2.capacity import check_room
from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.quotas import check_quota

# moto's own method, before `localcloud.api.patches` replaces it.
_moto_run_instances = EC2Backend.run_instances


def run_instances(
    instances: Instances,
    ec2: EC2Backend,
    image_id: str | None,
    count: int,
    user_data: str | None,
    security_group_names: list[str],
    **request: Any,
) -> Any:
    """Launches instances, and returns moto's reservation.

    The arguments are those of moto's `run_instances`. The launch template gives what the request leaves out.

    Raises:
        EC2ClientError: InsufficientInstanceCapacity if the configured capacity has no room for all of them;
            VcpuLimitExceeded or MaxSpotInstanceCountExceeded if the quota does not allow all of them;
            InvalidAMIID.Unavailable if the image is not complete, or was deregistered.
    """
    template = _template(ec2, request.get("launch_template"))
    filled = {**request, **_from_template(template, request)}
    flavor = filled["instance_type"]
    image_id = image_id or template.get("ImageId", "")
    _check_image(ec2, image_id)
    check_quota(instances, flavor, filled.get("instance_market_options") == "spot", count)
    check_room(instances, flavor, filled.get("placement") or f"{ec2.region_name}a", count)
    given_interfaces = {nic.get("NetworkInterfaceId") for nic in filled.get("nics", [])}
    reservation = _moto_run_instances(
        ec2,
        image_id,
        count,
        user_data or template.get("UserData"),
        security_group_names,
        **filled,
    )
    profile = {} if _names_profile(request) else template.get("IamInstanceProfile", {})
    for instance in reservation.instances:
        _complete(instance, template, given_interfaces)
        _associate(ec2, instance, profile)
        instances.adopt(instance)
    return reservation


def _check_image(ec2: EC2Backend, image_id: str) -> None:
    image = ec2.amis.get(image_id)
    if image_id in ec2.deleted_amis or (image is not None and image.state != "available"):
        raise EC2ClientError("InvalidAMIID.Unavailable", f"The image ID '{image_id}' is not available")


def _template(ec2: EC2Backend, reference: dict[str, Any] | None) -> dict[str, Any]:
    if not reference:
        return {}
    return copy.deepcopy(ec2._get_template_from_args(reference).data)


def _from_template(template: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of moto's `run_instances` that the request left to the template."""
    filled = {name: value for name, value in _offered(template).items() if value and not request.get(name)}
    if template.get("Monitoring", {}).get("Enabled"):
        filled["monitoring_state"] = "enabled"
    if template.get("InstanceType") and request.get("is_instance_type_default", True):
        filled |= {"instance_type": template["InstanceType"], "is_instance_type_default": False}
    tags = convert_tag_spec(template.get("TagSpecifications", []))
    for kind, own in (request.get("tags") or {}).items():
        tags[kind] = {**tags.get(kind, {}), **own}
    return {**filled, "tags": tags}


def _offered(template: dict[str, Any]) -> dict[str, Any]:
    """Returns a template's values under the names of moto's arguments."""
    interfaces = template.get("NetworkInterfaces", [])
    for index, interface in enumerate(interfaces):
        interface.setdefault("DeviceIndex", index)
    return {
        "key_name": template.get("KeyName"),
        "security_group_ids": template.get("SecurityGroupIds"),
        "nics": interfaces,
        "placement": template.get("Placement", {}).get("AvailabilityZone"),
        "ebs_optimized": template.get("EbsOptimized"),
        "instance_market_options": template.get("InstanceMarketOptions", {}).get("MarketType"),
        "instance_initiated_shutdown_behavior": template.get("InstanceInitiatedShutdownBehavior"),
        "metadata_options": template.get("MetadataOptions"),
        "disable_api_termination": template.get("DisableApiTermination"),
        "disable_api_stop": template.get("DisableApiStop"),
    }


def _names_profile(request: dict[str, Any]) -> bool:
    return bool(request.get("iam_instance_profile_name") or request.get("iam_instance_profile_arn"))


def _complete(instance: Instance, template: dict[str, Any], given_interfaces: set[Any]) -> None:
    """Sets what moto leaves out of a new instance."""
    for nic in instance.nics.values():
        # EC2 deletes the interfaces that it made for an instance with it. moto would leave them and their addresses.
        nic.delete_on_termination = nic.id not in given_interfaces
    if not instance.security_groups and instance.nics:
        # Security groups of the interface are the instance's too. moto keeps them apart.
        instance.security_groups = list(instance.nics[0]._group_set)
    placement_group = template.get("Placement", {}).get("GroupName")
    if placement_group:
        instance._placement.group_name = placement_group


def _associate(ec2: EC2Backend, instance: Instance, profile: dict[str, str]) -> None:
    if profile:
        ec2.associate_iam_instance_profile(
            instance_id=instance.id,
            iam_instance_profile_name=profile.get("Name"),
            iam_instance_profile_arn=profile.get("Arn"),
        )
