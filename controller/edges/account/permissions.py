"""What the credentials in use may do, as IAM's simulator tells."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3

from controller.edges.aws import AWS_ERRORS, client_config

BATCH = 100
"""As many actions as one call of the simulator gets, so that its answer fits one page."""


def declared_actions(policy: Path) -> list[str]:
    """Returns the actions in a policy's file that it allows on every resource. Patterns can't be simulated."""
    statements = json.loads(policy.read_text(encoding="utf-8"))["Statement"]
    actions = (s["Action"] for s in statements if s["Effect"] == "Allow" and s["Resource"] == "*")
    several = [action for one in actions for action in ([one] if isinstance(one, str) else one)]
    return sorted({action for action in several if "*" not in action and not action.startswith("kms:")})


def refused_actions(region: str, actions: Sequence[str]) -> list[str] | None:
    """Returns the actions that the credentials in use may not do; None where IAM does not tell."""
    try:
        principal = principal_of(boto3.client("sts", region_name=region, config=client_config()).get_caller_identity())
        iam: Any = boto3.client("iam", region_name=region, config=client_config())
        if principal is None:
            return []
        refused: list[str] = []
        for start in range(0, len(actions), BATCH):
            pages = iam.get_paginator("simulate_principal_policy").paginate(
                PolicySourceArn=principal,
                ActionNames=list(actions[start : start + BATCH]),
                ContextEntries=[
                    {
                        "ContextKeyName": "aws:RequestedRegion",
                        "ContextKeyValues": [region],
                        "ContextKeyType": "string",
                    }
                ],
            )
            results = [result for page in pages for result in page["EvaluationResults"]]
            refused += [result["EvalActionName"] for result in results if result["EvalDecision"] != "allowed"]
    except AWS_ERRORS:
        return None
    return refused


def principal_of(identity: dict[str, Any]) -> str | None:
    """Returns the ARN of the user or role behind an identity; None for the account's root, which may do everything."""
    arn = str(identity["Arn"])
    if arn.endswith(":root"):
        return None
    role = re.fullmatch(r"arn:([^:]+):sts::(\d+):assumed-role/([^/]+)/.*", arn)
    return f"arn:{role[1]}:iam::{role[2]}:role/{role[3]}" if role else arn
