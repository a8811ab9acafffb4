"""The reviewed plans of an environment: where they are kept, and the state that a plan belongs to."""

from __future__ import annotations

from controller.commands.context import Context
from controller.commands.exports import export_terraform_rc
from controller.edges.terraform import Terraform
from controller.review.plans.reviewed_plan import PlanStore, StateId, file_sha256


def plan_store(context: Context) -> PlanStore:
    """Returns the store of this environment's reviewed plans."""
    return PlanStore(context.environment.state_directory / "plans")


def ready_terraform(context: Context) -> Terraform:
    """Returns Terraform, initialised."""
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    return terraform


def state_id(terraform: Terraform) -> StateId:
    """Returns which state Terraform works on now."""
    lineage, serial = terraform.state_id()
    return StateId(lineage, serial)


def capacity_sha256(context: Context) -> str | None:
    """Returns the digest of the capacity file, or None if there is no such file."""
    file = context.environment.capacity_file
    return file_sha256(file) if file.is_file() else None
