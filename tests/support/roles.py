"""Instance profiles of a localcloud, whose roles have one policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.support.local_cloud import LocalCloud


def make_profile(cloud: LocalCloud, name: str, *actions: str, **entries: Any) -> str:
    """Creates an instance profile and its role, which allows these actions, and returns the name of both.

    Args:
        cloud: the cloud.
        name: the name.
        actions: what the role allows.
        entries: further entries of the statement, such as `Resource` and `Condition`.
    """
    iam = cloud.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName=name)
    iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
    if actions:
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*", **entries}
        iam.put_role_policy(RoleName=name, PolicyName="only", PolicyDocument=policy_text(statement))
    return name


def policy_text(*statements: Mapping[str, Any]) -> str:
    """Returns a policy document of these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
