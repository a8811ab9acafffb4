"""`centavo apply`: makes what Terraform declares, or applies exactly the plan that people have reviewed."""

from __future__ import annotations

import argparse

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.judged_plan import refuse_dangers, summarize_plan
from controller.commands.shared.reviewed_plans import capacity_sha256, plan_store, ready_terraform, state_id
from controller.domain import SECONDS_PER_HOUR
from controller.edges.terraform_plan import parse_plan
from controller.loop import wait_until_up
from controller.review.plans.dangers import Danger
from controller.review.plans.reviewed_plan import MAX_AGE_S, check_seal


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that make `apply` take a reviewed plan."""
    parser.add_argument(
        "--plan", metavar="DIGEST", help="apply exactly this reviewed plan (its digest, file or `latest`)"
    )
    parser.add_argument(
        "--max-plan-age",
        type=float,
        metavar="HOURS",
        default=MAX_AGE_S / SECONDS_PER_HOUR,
        help="refuse a reviewed plan that is older (default: %(default)g)",
    )


def apply(context: Context, options: argparse.Namespace) -> int:
    """Makes the environment and waits until its nodes answer; with a reviewed plan, applies exactly that plan."""
    if options.plan is not None:
        return apply_reviewed(context, options)
    journal = context.journal()
    cluster = context.cluster(journal)
    context.bring_up(cluster, journal)
    settings = context.environment.settings.controller
    wait_until_up(cluster, context.clock, settings, cluster.capacity.last)
    print(
        f"{context.environment.name} is up: the head {cluster.instances.head().instance_id}, and "
        f"{cluster.capacity.last.size} workers ({cluster.capacity.last})."
    )
    return 0


def apply_reviewed(context: Context, options: argparse.Namespace) -> int:
    """Applies the reviewed plan that the options name.

    Raises:
        SealError: There is no such plan, it was altered, or the state has changed since the review.
        GuardError: The plan does something dangerous that nobody has acknowledged.
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
    plan = parse_plan(terraform.show(reviewed.plan_file))
    acknowledged = frozenset(map(Danger, reviewed.seal.acknowledged))
    refuse_dangers(summarize_plan(context, plan, acknowledged))
    if plan.is_empty:
        print("Nothing to do: the reviewed plan changes nothing.")
        return 0
    context.check_lock()
    terraform.apply(reviewed.plan_file)
    store.mark_applied(reviewed, now)
    print(f"Applied {reviewed.seal.name}, exactly as it was reviewed.")
    return 0


COMMAND = Command(
    "apply", "make what Terraform declares, and wait until it runs", apply, add_options, changes_things=True
)
