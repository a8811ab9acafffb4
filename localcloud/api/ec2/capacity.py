"""How many instances of a flavor the cloud has room for."""

from __future__ import annotations

from moto.ec2.exceptions import EC2ClientError

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.states import PENDING, RUNNING, SHUTTING_DOWN


def room(instances: Instances, flavor: str) -> int | None:
    """Returns how many more instances of a flavor can be launched; None if there is no limit."""
    if instances.injected.find("no-capacity", flavor):
        return 0
    limit = instances.faults.capacity.get(flavor)
    if limit is None:
        return None
    taken = sum(one.flavor == flavor and one.state in (PENDING, RUNNING, SHUTTING_DOWN) for one in instances)
    return max(0, limit - taken)


def check_room(instances: Instances, flavor: str, zone: str, count: int) -> None:
    """Checks that `count` more instances of a flavor can be launched.

    Raises:
        EC2ClientError: InsufficientInstanceCapacity, in EC2's words.
    """
    left = room(instances, flavor)
    if left is not None and left < count:
        raise EC2ClientError(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {flavor} capacity in the Availability Zone you requested ({zone}). "
            "Our system will be working on provisioning additional capacity.",
        )
