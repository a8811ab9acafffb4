"""`centavo apply`: makes what Terraform declares, or applies exactly the plan that people have reviewed."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from controller.commands.context import Context
from controller.commands.shared.acknowledging import acknowledged_by, add_acknowledge_option
from controller.commands.shared.command import Command
from controller.commands.shared.judged_plan import refuse_dangers, summarize_plan
from controller.commands.shared.reviewed_plans import (
    capacity_sha256,
    plan_store,
    provide_capacity_file,
    ready_terraform,
    state_id,
)
from controller.commands.shared.telling import tell_all
from controller.domain import SECONDS_PER_HOUR
from controller.edges.terraform import Terraform
from controller.edges.terraform_plan import parse_plan
from controller.loop import wait_until_up
from controller.review.plans.outline_differences import require_same
from controller.review.plans.outline_file import read_outline
from controller.review.plans.plan_outline import PlanOutline, outline_of
from controller.review.plans.reviewed_plan import MAX_AGE_S, SHORT, SealError, check_seal
from controller.words.preparing import answering


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that make `apply` take a reviewed plan."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--plan", metavar="DIGEST", help="apply exactly this plan, reviewed here (its digest, file or `latest`)"
    )
    which.add_argument(
        "--reviewed",
        type=Path,
        metavar="OUTLINE",
        help="plan again, and apply that if it does exactly what this reviewed plan does (exit code 20 if not)",
    )
    add_acknowledge_option(parser)
    parser.add_argument(
        "--max-plan-age",
        type=float,
        metavar="HOURS",
        default=MAX_AGE_S / SECONDS_PER_HOUR,
        help="refuse a plan that was reviewed here longer ago (default: %(default)g)",
    )


def apply(context: Context, options: argparse.Namespace) -> int:
    """Makes the environment and waits until its nodes answer; with a reviewed plan, applies exactly that plan.

    Raises:
        SealError: Something is acknowledged, but no plan is named that a person has reviewed.
    """
    if options.plan is not None:
        return apply_sealed(context, options)
    if options.reviewed is not None:
        return apply_as_reviewed(context, options)
    if options.acknowledge:
        raise SealError(
            "Only a plan that was reviewed can be acknowledged.",
            "Run `centavo review` first, then `centavo apply --plan latest` with the same `--acknowledge`.",
        )
    journal = context.journal()
    cluster, began = context.cluster(journal), context.clock.now()
    context.bring_up(cluster, journal)
    settings = context.environment.settings.controller
    wait_until_up(cluster, context.clock, settings, cluster.capacity.last)
    workers = [worker for worker in cluster.workers() if worker.is_running]
    tell_all(context, journal, answering(workers, began, context.clock.now()))
    print(
        f"{context.environment.name} is up: the head {cluster.instances.head().instance_id}, and "
        f"{cluster.capacity.last.size} workers ({cluster.capacity.last})."
    )
    return 0


def apply_sealed(context: Context, options: argparse.Namespace) -> int:
    """Applies the plan that was reviewed on this machine and that the options name.

    Raises:
        SealError: There is no such plan, it was made elsewhere or altered, or the state has changed since the review.
        GuardError: The plan does something dangerous that the options don't acknowledge.
    """
    store = plan_store(context)
    reviewed = store.find(options.plan)
    terraform = ready_terraform(context)
    now = context.clock.now()
    check_seal(
        reviewed,
        state=state_id(terraform),
        capacity_sha256=capacity_sha256(context),
        now=now,
        max_age_s=options.max_plan_age * SECONDS_PER_HOUR,
    )
    if _apply(context, options, terraform, reviewed.plan_file):
        store.mark_applied(reviewed, now)
        print(f"Applied {reviewed.seal.name}, exactly as it was reviewed.")
    return 0


def apply_as_reviewed(context: Context, options: argparse.Namespace) -> int:
    """Plans again, and applies that plan if it does exactly what the reviewed plan does.

    Nothing that comes with the reviewed plan is applied or believed: it can only stop the apply.

    Raises:
        OutlineError: The file is not the outline of a plan of this environment.
        PlanDiffersError: The new plan does something else.
        GuardError: The new plan does something dangerous that the options don't acknowledge.
    """
    expected = read_outline(options.reviewed, context.environment.name)
    context.check_first_fleet()
    terraform = ready_terraform(context)
    provide_capacity_file(context)
    file = context.environment.state_directory / f"apply-{os.getpid()}.tfplan"
    try:
        terraform.plan(file, read=False)
        file.chmod(0o600)
        if _apply(context, options, terraform, file, expected):
            print(f"Applied a new plan that does exactly what was reviewed ({expected.fingerprint[:SHORT]}).")
    finally:
        file.unlink(missing_ok=True)
    return 0


def _apply(
    context: Context, options: argparse.Namespace, terraform: Terraform, file: Path, expected: PlanOutline | None = None
) -> bool:
    """Applies a plan file that is judged first. Returns whether there was anything to do."""
    plan = parse_plan(terraform.show(file))
    if expected is not None:
        require_same(expected, outline_of(plan))
    refuse_dangers(summarize_plan(context, plan, acknowledged_by(options)))
    if plan.is_empty:
        print("Nothing to do: the reviewed plan changes nothing.")
        return False
    context.owner.check()
    terraform.apply(file)
    return True


COMMAND = Command(
    "apply", "make what Terraform declares, and wait until it runs", apply, add_options, changes_things=True
)
