"""What is checked before an apply buys anything."""

from __future__ import annotations

from pathlib import Path

from controller.config.environment import Environment
from controller.domain.errors import CentavoError, ConfigError
from controller.edges.account.permissions import declared_actions, refused_actions
from controller.edges.bucket.find import find_bucket
from controller.edges.connecting.session_manager import require_session_programs
from controller.edges.terraform_plan import Action, Plan

MOST_SHOWN = 8
BUCKET = "aws_s3_bucket"
MAKING = "build"
"""The name of the policy that making and removing things needs."""


def check_before_apply(environment: Environment, plan: Plan) -> None:
    """Checks that a plan makes no second cluster, that its nodes can be reached, and that the credentials suffice.

    Raises:
        CentavoError: The head will have no public address, and this machine cannot open sessions of Systems Manager;
            another cluster has this name; or IAM refuses what the environment's folder `policies` says is needed.
        AwsError: Whether another cluster has this name can't be known.
    """
    if environment.settings.ssh.jump_through_head and plan.has_private_head:
        require_session_programs()
    if any(change.type == BUCKET and change.action is Action.CREATE for change in plan.changed):
        _refuse_second_cluster(environment)
    policies = environment.directory / "policies"
    if policies.is_dir():
        _require_permissions(policies, plan, environment.settings.aws.region)


def _refuse_second_cluster(environment: Environment) -> None:
    """Raises ConfigError where a cluster of this name has a bucket, which Terraform would not make if it knew it."""
    cluster = environment.settings.cluster
    bucket = find_bucket(environment.settings.aws.region, cluster)
    if bucket is not None:
        raise ConfigError(
            f"A cluster {cluster} exists, with the bucket {bucket}. Terraform here knows nothing of it, so "
            "an apply would make a second cluster of this name. Nothing was made.",
            f"`centavo --env {environment.name} take-over` controls that cluster from here. Give this one another name "
            "(`cluster` in centavo.yml), or remove the bucket where nothing else is left of that cluster.",
        )


def _require_permissions(policies: Path, plan: Plan, region: str) -> None:
    """Raises CentavoError where IAM's simulator says that actions are refused. Where it does not tell, AWS will.

    Who only changes capacities does not need the policy of those who make things.
    """
    needed = [policy for policy in policies.glob("*.json") if policy.stem != MAKING or not _changes_capacity_only(plan)]
    declared = {action for policy in needed for action in declared_actions(policy)}
    refused = refused_actions(region, sorted(declared))
    if refused:
        shown = ", ".join(refused[:MOST_SHOWN])
        more = f" and {len(refused) - MOST_SHOWN} more" if len(refused) > MOST_SHOWN else ""
        raise CentavoError(
            f"The AWS credentials may not do what an apply needs: {shown}{more}. Nothing was made.",
            f"Give their user or role the policies in {policies} (terraform/examples/operator makes it).",
        )


def _changes_capacity_only(plan: Plan) -> bool:
    return all(change.action is Action.UPDATE and change.type == "aws_autoscaling_group" for change in plan.changed)
