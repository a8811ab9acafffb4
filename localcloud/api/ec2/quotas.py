"""Quotas of EC2: how many vCPUs of each class of instance types may run. moto has none.

Codes and names: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.states import PENDING, RUNNING

DEFAULT_VCPUS = 1000
STANDARD = frozenset(("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"))
GPU_G, GPU_P = frozenset(("g", "gr", "vt")), frozenset(("p",))


@dataclass(frozen=True)
class Quota:
    """A limit of the running vCPUs of some families, bought either on demand or on the spot market."""

    code: str
    spot: bool
    families: frozenset[str]
    name: str

    def covers(self, flavor: str, spot: bool) -> bool:
        """Returns whether an instance counts towards this quota."""
        return self.spot == spot and _family(flavor) in self.families


QUOTAS = (
    Quota("L-1216C47A", False, STANDARD, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
    Quota("L-34B43A08", True, STANDARD, "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
    Quota("L-DB2E81BA", False, GPU_G, "Running On-Demand G and VT instances"),
    Quota("L-3819A6DF", True, GPU_G, "All G and VT Spot Instance Requests"),
    Quota("L-417A185B", False, GPU_P, "Running On-Demand P instances"),
    Quota("L-7212CCBC", True, GPU_P, "All P4, P3 and P2 Spot Instance Requests"),
)
CODES = tuple(quota.code for quota in QUOTAS)


def limit_of(quota: Quota, vcpu_quotas: dict[str, int]) -> int:
    """Returns the vCPUs that a quota allows."""
    return vcpu_quotas.get(quota.code, DEFAULT_VCPUS)


def check_quota(instances: Instances, flavor: str, spot: bool, count: int) -> None:
    """Checks that `count` more instances of a flavor stay within the quota.

    Raises:
        EC2ClientError: MaxSpotInstanceCountExceeded or VcpuLimitExceeded, in EC2's words.
    """
    quota = next((quota for quota in QUOTAS if quota.covers(flavor, spot)), None)
    if quota is None:
        return
    limit = limit_of(quota, instances.faults.vcpu_quotas)
    if _used(instances, quota) + count * vcpus_of(flavor) <= limit:
        return
    if spot:
        raise EC2ClientError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
    raise EC2ClientError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket "
        "that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to "
        "request an adjustment to this limit.",
    )


def vcpus_of(flavor: str) -> int:
    """Returns the vCPUs of an instance type; 1 for an unknown one."""
    return int(INSTANCE_TYPES.get(flavor, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1))


def memory_mib_of(flavor: str) -> int:
    """Returns the memory of an instance type in MiB; 1024 for an unknown one."""
    return int(INSTANCE_TYPES.get(flavor, {}).get("MemoryInfo", {}).get("SizeInMiB", 1024))


def is_flavor(name: str) -> bool:
    """Returns whether EC2 has an instance type of this name."""
    return name in INSTANCE_TYPES


def _family(flavor: str) -> str:
    letters = re.match("[a-z]*", flavor)
    return letters.group() if letters else ""


def _used(instances: Instances, quota: Quota) -> int:
    counted = [one for one in instances if one.state in (PENDING, RUNNING) and quota.covers(one.flavor, one.is_spot)]
    return sum(vcpus_of(one.flavor) for one in counted)
