"""The IAM role of an instance: its name, and what it may not do, as IAM's simulator tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3

from controller.edges.aws import AWS_ERRORS, client_config


@dataclass(frozen=True)
class Need:
    """An action that a role has to be allowed: on which resource, what for, and with which keys of the request."""

    action: str
    resource: str
    purpose: str
    context: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.action} ({self.purpose})"


def role_of(region: str, instance_id: str) -> str | None:
    """Returns the ARN of an instance's role; None where it has none, or AWS does not tell."""
    ec2: Any = boto3.client("ec2", region_name=region, config=client_config())
    iam: Any = boto3.client("iam", region_name=region, config=client_config())
    try:
        found = ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]
        name = found["IamInstanceProfile"]["Arn"].rpartition("/")[2]
        return str(iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"][0]["Arn"])
    except (*AWS_ERRORS, KeyError, IndexError):
        return None


def refused_to(region: str, role: str, needs: Iterable[Need]) -> list[Need] | None:
    """Returns what a role needs and may not do; None where IAM does not tell."""
    iam: Any = boto3.client("iam", region_name=region, config=client_config())
    try:
        return [need for need in needs if not _is_allowed(iam, role, need)]
    except AWS_ERRORS:
        return None


def _is_allowed(iam: Any, role: str, need: Need) -> bool:
    answer = iam.simulate_principal_policy(
        PolicySourceArn=role,
        ActionNames=[need.action],
        ResourceArns=[need.resource],
        ContextEntries=[
            {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
            for key, value in need.context.items()
        ],
    )
    return all(result["EvalDecision"] == "allowed" for result in answer["EvaluationResults"])
