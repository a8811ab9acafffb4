"""Service quotas: how many vCPUs of each class of instance types may run, told and enforced as on AWS. moto knows none.

Codes and names: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES

from localcloud.api.ec2.lifecycle import PENDING, RUNNING, Machines
from localcloud.api.errors import ServiceError

SERVICE = "ec2"
DEFAULT_VCPUS = 1000
STANDARD = frozenset(("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"))
GPU_G, GPU_P = frozenset(("g", "gr", "vt")), frozenset(("p",))


@dataclass(frozen=True)
class Quota:
    """The running vCPUs of some families, bought in one way."""

    code: str
    spot: bool
    families: frozenset[str]
    name: str


QUOTAS = (
    Quota("L-1216C47A", False, STANDARD, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"),
    Quota("L-34B43A08", True, STANDARD, "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"),
    Quota("L-DB2E81BA", False, GPU_G, "Running On-Demand G and VT instances"),
    Quota("L-3819A6DF", True, GPU_G, "All G and VT Spot Instance Requests"),
    Quota("L-417A185B", False, GPU_P, "Running On-Demand P instances"),
    Quota("L-7212CCBC", True, GPU_P, "All P4, P3 and P2 Spot Instance Requests"),
)
CODES = tuple(quota.code for quota in QUOTAS)


def check_quota(machines: Machines, flavor: str, spot: bool, count: int) -> None:
    """Raise EC2's error when `count` more instances of a flavor would exceed a quota."""
    quota = next((quota for quota in QUOTAS if quota.spot == spot and _family(flavor) in quota.families), None)
    if quota is None:
        return
    limit = machines.vcpu_quotas.get(quota.code, DEFAULT_VCPUS)
    if _used(machines, quota) + count * vcpus_of(flavor) <= limit:
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
    """The vCPUs of an instance type; 1 for one that is unknown."""
    return int(INSTANCE_TYPES.get(flavor, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1))


def _family(flavor: str) -> str:
    letters = re.match("[a-z]*", flavor)
    return letters.group() if letters else ""


def _used(machines: Machines, quota: Quota) -> int:
    living = [machine.instance for machine in machines if machine.state in (PENDING, RUNNING)]
    return sum(
        vcpus_of(instance.instance_type)
        for instance in living
        if _family(instance.instance_type) in quota.families and (instance.lifecycle == "spot") == quota.spot
    )


class ServiceQuotas:
    """Answers the service's actions."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines

    def answer(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        """The response to one request; raises ServiceError."""
        if request.get("ServiceCode") != SERVICE:
            raise ServiceError("NoSuchResourceException", f"localcloud has quotas of {SERVICE} only")
        if action in ("ListServiceQuotas", "ListAWSDefaultServiceQuotas"):
            return {"Quotas": [self._to_api(quota) for quota in QUOTAS]}
        if action in ("GetServiceQuota", "GetAWSDefaultServiceQuota"):
            wanted = request.get("QuotaCode")
            for quota in QUOTAS:
                if quota.code == wanted:
                    return {"Quota": self._to_api(quota)}
            raise ServiceError("NoSuchResourceException", f"localcloud has no quota {wanted}")
        raise ServiceError("InvalidParameterValueException", f"localcloud has no service quotas action {action}")

    def _to_api(self, quota: Quota) -> dict[str, Any]:
        region, account = self.machines.settings.region, self.machines.ec2.account_id
        return {
            "ServiceCode": SERVICE,
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": f"arn:aws:servicequotas:{region}:{account}:{SERVICE}/{quota.code}",
            "QuotaCode": quota.code,
            "QuotaName": quota.name,
            "Value": float(self.machines.vcpu_quotas.get(quota.code, DEFAULT_VCPUS)),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
