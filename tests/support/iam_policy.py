"""The IAM policies of the person at the keyboard, and what they allow together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localcloud.api.iam.policy import Verdict, verdict
from localcloud.api.iam.question import Question

FOLDER = Path(__file__).parents[2] / "terraform" / "environments" / "aws" / "policies"
POLICIES: Mapping[str, Any] = {file.stem: json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))}
"""By name: `build` for what Terraform makes, `run` for what a run needs."""


def allowed(action: str, resource: str, context: Mapping[str, str], *names: str) -> bool:
    """Returns whether these policies, or all of them, allow an action on a resource in the context of a request."""
    chosen = [POLICIES[name] for name in names or POLICIES]
    return verdict(chosen, Question(action, resource, context)) is Verdict.ALLOWED
