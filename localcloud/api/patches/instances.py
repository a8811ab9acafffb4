"""Instances that pass through EC2's states, and launch templates that are applied as a whole."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.launch import run_instances
from localcloud.api.patches.replace import replace


def patch_instances(instances: Instances) -> None:
    """Lets `instances` carry out what calls of the API do to instances."""

    def launch(ec2: EC2Backend, image_id: str, count: int, user_data: str, groups: list[str], **request: Any) -> Any:
        return run_instances(instances, ec2, image_id, count, user_data, groups, **request)

    def terminate(instance: Instance) -> Any:
        return instances.terminate(instance)

    def stop(instance: Instance) -> Any:
        return instances.stop(instance)

    def start(instance: Instance) -> Any:
        return instances.start(instance)

    def reboot(instance: Instance) -> None:
        instances.reboot(instance)

    replace(EC2Backend, "run_instances", launch)
    for function in (terminate, stop, start, reboot):
        replace(Instance, function.__name__, function)
