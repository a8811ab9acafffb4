"""The IAM policies of the person at the keyboard and of a controller on the head, and what they allow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from localcloud.api.iam.policy import Verdict, verdict
from localcloud.api.iam.question import Question

TERRAFORM = Path(__file__).parents[2] / "terraform"
FOLDER = TERRAFORM / "environments" / "aws" / "policies"
POLICIES: Mapping[str, Any] = {file.stem: json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))}
"""By name: `build` for what Terraform makes, `run` for what a run needs."""


def allowed(action: str, resource: str, context: Mapping[str, str], *names: str) -> bool:
    """Returns whether these policies, or all of them, allow an action on a resource in the context of a request."""
    chosen = [POLICIES[name] for name in names or POLICIES]
    return verdict(chosen, Question(action, resource, context)) is Verdict.ALLOWED


def policy_of_the_head(cluster: str, bucket: str) -> Mapping[str, Any]:
    """Returns the policy of a controller on the head, for a cluster and the ARN of its bucket."""
    text = (TERRAFORM / "modules" / "access" / "controller.json.tftpl").read_text()
    return dict(json.loads(Template(text).substitute(cluster=cluster, bucket_arn=bucket)))


def allows(policy: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str]) -> bool:
    """Returns whether a policy allows an action on a resource in the context of a request."""
    return verdict([policy], Question(action, resource, context)) is Verdict.ALLOWED
