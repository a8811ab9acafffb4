"""The service Service Quotas, which tells the quotas of EC2."""

from __future__ import annotations

from typing import Any

from localcloud.api.ec2.quotas import QUOTAS, Quota, limit_of
from localcloud.api.errors import ServiceError
from localcloud.api.faults.limits import Faults

SERVICE = "ec2"


class ServiceQuotas:
    """Answers the service's actions for one region of one account."""

    def __init__(self, faults: Faults, region: str, account: str) -> None:
        self.faults = faults
        self.region = region
        self.account = account

    def answer(self, action: str, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the response to a request.

        Raises:
            ServiceError: there is no such action, service or quota.
        """
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
        return {
            "ServiceCode": SERVICE,
            "ServiceName": "Amazon Elastic Compute Cloud (Amazon EC2)",
            "QuotaArn": f"arn:aws:servicequotas:{self.region}:{self.account}:{SERVICE}/{quota.code}",
            "QuotaCode": quota.code,
            "QuotaName": quota.name,
            "Value": float(limit_of(quota, self.faults.vcpu_quotas)),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
