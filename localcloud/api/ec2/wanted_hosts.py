"""The hosts that shall run, made of the instances that run."""

from __future__ import annotations

import base64
import binascii
import gzip
import ipaddress
from typing import Any

from moto.ec2.models import EC2Backend
from moto.iam.models import Role, iam_backends

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.quotas import memory_mib_of, vcpus_of
from localcloud.api.ec2.states import RUNNING
from localcloud.api.ec2.tracked_instance import TrackedInstance
from localcloud.api.faults.injected import HOST_KINDS
from localcloud.api.iam.role_sessions import RoleSessions
from localcloud.link.spec import CreditSpec, HostFault, HostSpec, RoleSession
from localcloud.settings import Settings

DEFAULT_VOLUME_GB = 8


def wanted_hosts(instances: Instances, sessions: RoleSessions) -> list[HostSpec]:
    """Returns the hosts that shall run now, and marks their instances as hosted.

    An instance whose address is not in the range of the hosts has no host, because nothing can listen on that address.
    """
    specs = []
    host_range = instances.settings.host_range
    for tracked in instances:
        address = tracked.instance.private_ip
        if tracked.state == RUNNING and address and ipaddress.IPv4Address(address) in host_range:
            tracked.hosted = True
            faults = _faults(tracked.id, instances)
            role = _role(tracked.instance, instances.ec2.account_id)
            session = sessions.of(tracked.id, role) if role else None
            specs.append(host_spec(tracked, address, instances.ec2, instances.settings, faults, session))
    return specs


def host_spec(
    tracked: TrackedInstance,
    address: str,
    ec2: EC2Backend,
    settings: Settings,
    faults: tuple[HostFault, ...],
    role: RoleSession | None,
) -> HostSpec:
    """Returns the host of an instance."""
    instance: Any = tracked.instance
    key = ec2.key_pairs.get(instance.key_name) if instance.key_name else None
    return HostSpec(
        instance_id=tracked.id,
        flavor=tracked.flavor,
        address=address,
        availability_zone=str(instance._placement.zone),
        region=settings.region,
        account=str(ec2.account_id),
        image_id=instance.image_id,
        hostname=instance.private_dns_name,
        public_address=instance.public_ip,
        key_name=instance.key_name,
        public_key=key.public_key if key else None,
        user_data=decode_user_data(instance.user_data),
        tags={tag["key"]: tag["value"] for tag in instance.get_tags()},
        role=role,
        tokens_required=instance.metadata_options.http_tokens == "required",
        tags_in_metadata=instance.metadata_options.instance_metadata_tags == "enabled",
        spot=tracked.is_spot,
        spot_notice=tracked.notice,
        rebalance_at=tracked.rebalance_at,
        speed=settings.speed_of(tracked.flavor),
        unreachable=tracked.failure == "unreachable",
        boot=tracked.boot,
        faults=faults,
        subnet_id=instance.subnet_id,
        security_groups=tuple(group.id for group in instance.security_groups),
        vcpus=vcpus_of(tracked.flavor),
        memory_mib=memory_mib_of(tracked.flavor),
        volume_gb=_volume_gb(instance),
        credits=_credits(tracked.flavor, settings),
    )


def _credits(flavor: str, settings: Settings) -> CreditSpec | None:
    known = settings.credits.get(flavor)
    return None if known is None else CreditSpec(known.launch, known.per_hour, known.unlimited)


def _volume_gb(instance: Any) -> int:
    """Returns the size of the instance's first volume."""
    return next(
        (int(device.size) for device in instance.block_device_mapping.values() if device.size), DEFAULT_VOLUME_GB
    )


def decode_user_data(encoded: str | bytes | None) -> str | None:
    """Returns user data as text. The API carries it in base64, and it may be compressed with gzip."""
    if not encoded:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return encoded if isinstance(encoded, str) else encoded.decode(errors="replace")
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return data.decode(errors="replace")


def _faults(instance_id: str, instances: Instances) -> tuple[HostFault, ...]:
    found = []
    for fault in instances.injected.all():
        if fault.kind in HOST_KINDS and fault.target == instance_id:
            other = instances.get(fault.other) if fault.other else None
            found.append(HostFault(fault.kind, fault.other, other.instance.private_ip if other else None))
    return tuple(found)


def _role(instance: Any, account: str) -> Role | None:
    """Returns the role in the instance profile of an instance."""
    if not instance.iam_instance_profile:
        return None
    arn = instance.iam_instance_profile["Arn"]
    for profile in iam_backends[account]["aws"].instance_profiles.values():
        if profile.arn == arn and profile.roles:
            role: Role = profile.roles[0]
            return role
    return None
