"""The reviewed plans of an environment: where they are kept, what a plan is made from, the state that it belongs to."""

from __future__ import annotations

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.shared.exports import export_terraform_rc
from controller.edges.terraform import Terraform
from controller.review.plans.reviewed_plan import PlanStore, StateId, file_sha256


def plan_store(context: Context) -> PlanStore:
    """Returns the store of this environment's reviewed plans."""
    return PlanStore(context.environment.state_directory / "plans", context.environment.state_directory / "seal.key")


def ready_terraform(context: Context) -> Terraform:
    """Returns Terraform, initialised."""
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    return terraform


def provide_capacity_file(context: Context) -> None:
    """Writes the initial fleet into the capacity file if nothing was ever applied."""
    capacity = CapacityFile(context.environment.capacity_file)
    if not capacity.exists():
        capacity.read()
        capacity.write(context.environment.initial_fleet)


def state_id(terraform: Terraform) -> StateId:
    """Returns which state Terraform works on now."""
    lineage, serial = terraform.state_id()
    return StateId(lineage, serial)


def capacity_sha256(context: Context) -> str | None:
    """Returns the digest of the capacity file, or None if there is no such file."""
    file = context.environment.capacity_file
    return file_sha256(file) if file.is_file() else None
