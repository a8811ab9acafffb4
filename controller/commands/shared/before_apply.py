"""What is checked before an apply buys anything."""

from __future__ import annotations

from pathlib import Path

from controller.config.environment import Environment
from controller.domain.errors import CentavoError
from controller.edges.account.permissions import declared_actions, refused_actions
from controller.edges.connecting.session_manager import require_session_programs
from controller.edges.terraform_plan import Plan

MOST_SHOWN = 8


def check_before_apply(environment: Environment, plan: Plan) -> None:
    """Checks that the controller can reach what the plan makes, and that the credentials suffice.

    Raises:
        CentavoError: The head will have no public address, and this machine cannot open sessions of Systems Manager; or
            IAM refuses what the environment's `policy.json` says is needed.
    """
    if environment.settings.ssh.jump_through_head and plan.has_private_head:
        require_session_programs()
    policy = environment.directory / "policy.json"
    if policy.exists():
        _require_permissions(policy, environment.settings.aws.region)


def _require_permissions(policy: Path, region: str) -> None:
    """Raises CentavoError where IAM's simulator says that actions are refused. Where it does not tell, AWS will."""
    refused = refused_actions(region, declared_actions(policy))
    if refused:
        shown = ", ".join(refused[:MOST_SHOWN])
        more = f" and {len(refused) - MOST_SHOWN} more" if len(refused) > MOST_SHOWN else ""
        raise CentavoError(
            f"The AWS credentials may not do what an apply needs: {shown}{more}. Nothing was made.",
            f"Give their user or role the policy in {policy} (terraform/examples/operator makes it).",
        )
