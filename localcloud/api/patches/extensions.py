"""Puts localcloud's parts into moto: the one place where moto's classes are changed.

moto 5.1 dispatches an action to the method of that name on a response class, and serialises what it returns from
botocore's model; so an action that it lacks is a function set on that class. What moto does too simply (states,
addresses, groups) is replaced on its model classes.
"""

from __future__ import annotations

import base64
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

from localcloud.api.autoscaling.scaling import Scaling, update_rest
from localcloud.api.ec2.addresses import Addresses
from localcloud.api.ec2.launch import run_instances
from localcloud.api.ec2.lifecycle import Machines
from localcloud.api.ec2.placement import PREFIX, PlacementGroups
from localcloud.api.patches.corrections import replace
from localcloud.api.prices.spot import SpotPrices


def extend_instances(machines: Machines) -> None:
    """Instances with EC2's states, and launch templates applied as a whole."""

    def launch(ec2: EC2Backend, image_id: str, count: int, user_data: str, groups: list[str], **request: Any) -> Any:
        return run_instances(machines, ec2, image_id, count, user_data, groups, **request)

    def terminate(instance: Instance) -> Any:
        return machines.terminate(instance)

    def stop(instance: Instance) -> Any:
        return machines.stop(instance)

    def start(instance: Instance) -> Any:
        return machines.start(instance)

    def reboot(instance: Instance) -> None:
        machines.reboot(instance)

    replace(EC2Backend, "run_instances", launch)
    for name, function in {"terminate": terminate, "stop": stop, "start": start, "reboot": reboot}.items():
        replace(Instance, name, function)


def extend_addresses() -> None:
    """Every interface gets its address from one allocator."""
    addresses = Addresses()
    create = EC2Backend.create_network_interface

    def available(subnet: Subnet, instance: Instance) -> str:
        return addresses.next_in(subnet.ec2_backend, subnet)

    def create_with_address(ec2: EC2Backend, subnet: Any, private_ip_address: Any, *args: Any, **options: Any) -> Any:
        listed = args[0] if args else options.get("private_ip_addresses")
        if not private_ip_address and not listed:
            known = ec2.get_subnet(subnet) if isinstance(subnet, str) else subnet
            private_ip_address = addresses.next_in(ec2, known) if known else private_ip_address
        return create(ec2, subnet, private_ip_address, *args, **options)

    replace(Subnet, "get_available_subnet_ip", available)
    replace(EC2Backend, "create_network_interface", create_with_address)


def extend_scaling(scaling: Scaling) -> None:
    """Groups that only note what is wanted; `Scaling` sees to it."""

    protect = AutoScalingBackend.set_instance_protection
    update = AutoScalingResponse.update_auto_scaling_group

    def set_desired_capacity(group: FakeAutoScalingGroup, capacity: int | None) -> None:
        scaling.want(group, capacity)

    def set_instance_protection(backend: AutoScalingBackend, group_name: str, *args: Any, **options: Any) -> None:
        protect(backend, group_name, *args, **options)
        scaling.try_at_once(backend.autoscaling_groups[group_name])

    def describe_scaling_activities(response: AutoScalingResponse) -> ActionResult:
        ids = response._get_param("ActivityIds", [])
        found = scaling.activities.of(response._get_param("AutoScalingGroupName"))
        limit = response._get_int_param("MaxRecords", 100)
        start = int(response._get_param("NextToken") or 0)
        matching = [activity.to_api() for activity in found if not ids or activity.activity_id in ids]
        more = str(start + limit) if start + limit < len(matching) else None
        return ActionResult({"Activities": matching[start : start + limit], "NextToken": more})

    def terminate_in_group(response: AutoScalingResponse) -> ActionResult:
        decrement = response._get_bool_param("ShouldDecrementDesiredCapacity", False)
        activity = scaling.terminate_member(response._get_param("InstanceId"), bool(decrement))
        return ActionResult({"Activity": activity.to_api()})

    def update_group(response: AutoScalingResponse) -> ActionResult:
        result = update(response)
        group = response.autoscaling_backend.autoscaling_groups[response._get_param("AutoScalingGroupName")]
        update_rest(group, response._get_params())
        return result

    def delete_group(response: AutoScalingResponse) -> ActionResult:
        force = bool(response._get_bool_param("ForceDelete", False))
        scaling.delete_group(response._get_param("AutoScalingGroupName"), force)
        return EmptyResult()

    replace(FakeAutoScalingGroup, "set_desired_capacity", set_desired_capacity)
    replace(AutoScalingBackend, "set_instance_protection", set_instance_protection)
    replace(AutoScalingBackend, "notify_terminate_instances", lambda backend, instance_ids: None)
    replace(AutoScalingResponse, "describe_scaling_activities", describe_scaling_activities)
    replace(AutoScalingResponse, "terminate_instance_in_auto_scaling_group", terminate_in_group)
    replace(AutoScalingResponse, "update_auto_scaling_group", update_group)
    replace(AutoScalingResponse, "delete_auto_scaling_group", delete_group)


def extend_placement(groups: PlacementGroups) -> None:
    """The three actions of placement groups, and ids that CreateTags knows."""
    EC2_RESOURCE_TO_PREFIX["placement-group"] = PREFIX
    EC2_PREFIX_TO_RESOURCE[PREFIX] = "placement-group"

    def create_placement_group(response: EC2Response) -> ActionResult:
        group = groups.create(
            response._get_param("GroupName"),
            response._get_param("Strategy"),
            response._get_int_param("PartitionCount"),
            response._get_param("SpreadLevel"),
            response._parse_tag_specification("placement-group").get("placement-group", {}),
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


def extend_spot_prices(prices: SpotPrices) -> None:
    """A spot price history that is configured."""

    def describe_spot_price_history(response: EC2Response) -> ActionResult:
        filters: dict[str, Any] = response._filters_from_querystring()
        zone = response._get_param("AvailabilityZone")
        history = prices.describe(
            response._get_param("InstanceTypes", []) or filters.get("instance-type", []),
            [zone] if zone else filters.get("availability-zone", []),
            response._get_param("ProductDescriptions", []) or filters.get("product-description", []),
            _moment(response._get_param("StartTime")),
            _moment(response._get_param("EndTime")),
        )
        return ActionResult({"SpotPriceHistory": history, "NextToken": ""})

    replace(EC2Response, "describe_spot_price_history", describe_spot_price_history)


def extend_console(instances_dir: Path) -> None:
    """GetConsoleOutput: what the user data printed, and the SSH host key, as cloud images print it."""

    def get_console_output(response: EC2Response) -> ActionResult:
        instance_id = response._get_param("InstanceId")
        response.ec2_backend.get_instance(instance_id)
        text = console_of(instances_dir / instance_id)
        encoded = base64.b64encode(text.encode()).decode()
        return ActionResult({"InstanceId": instance_id, "Output": encoded, "Timestamp": datetime.now(timezone.utc)})

    replace(EC2Response, "get_console_output", get_console_output)


def console_of(instance_dir: Path) -> str:
    """The console of an instance."""
    log, key = instance_dir / "console.log", instance_dir / "ssh_host_ed25519_key.pub"
    printed = log.read_text(errors="replace") if log.exists() else ""
    if key.exists():
        printed += f"-----BEGIN SSH HOST KEY KEYS-----\n{key.read_text().strip()}\n-----END SSH HOST KEY KEYS-----\n"
    return printed


def _moment(value: Any) -> datetime | None:
    """A request's time, in UTC. Where moto parses the request by itself (5.1.17) the time has lost its zone."""
    moment = datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
