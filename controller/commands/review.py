"""`centavo review`, also called `plan`: what would change and what it costs.

Exit codes, for a pipeline: 0 nothing changes, 2 something changes, 3 refused by the guard, 1 an error.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.judged_plan import summarize_plan
from controller.commands.shared.reviewed_plans import capacity_sha256, plan_store, ready_terraform, state_id
from controller.domain.errors import CentavoError, GuardError, StoppedError
from controller.edges.terraform import Terraform
from controller.edges.terraform_plan import parse_plan
from controller.review.plans.dangers import Danger
from controller.review.plans.plan_summary import PlanSummary
from controller.review.plans.reviewed_plan import ReviewedPlan, Seal, file_sha256
from controller.review.shown.markdown import render
from controller.review.shown.terminal import print_review

NO_CHANGE, CHANGES, REFUSED = 0, 2, 3
PIPE_WIDTH = 130
"""A pipe has no width of its own, and the table of flavors needs some."""


class ReviewError(CentavoError):
    """A review that could not be made. Pipelines take its exit code for an error."""

    exit_code = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what is acknowledged, and where the Markdown is written."""
    parser.add_argument(
        "--acknowledge",
        action="append",
        default=[],
        choices=[danger.value for danger in Danger],
        help="say that this dangerous change is meant; may be given more than once",
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the review for a pull request there as well"
    )


def review(context: Context, options: argparse.Namespace) -> int:
    """Plans, prints what the plan comes to, and keeps the plan for `apply --plan`.

    Raises:
        ReviewError: Something went wrong on the way.
    """
    try:
        return _review(context, options)
    except (GuardError, StoppedError):
        raise
    except CentavoError as error:
        raise ReviewError(error.what, error.next_step) from error


def _review(context: Context, options: argparse.Namespace) -> int:
    context.check_first_fleet()
    terraform = ready_terraform(context)
    _provide_capacity_file(context)
    summary, reviewed = _plan(context, terraform, frozenset(map(Danger, options.acknowledge)))
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(reviewed.review_file.read_text(encoding="utf-8"), encoding="utf-8")
    print_review(summary, _console())
    print(f"For a pull request: {options.markdown or reviewed.review_file}")
    if summary.plan.is_empty:
        return NO_CHANGE
    if summary.verdict.is_refused:
        return REFUSED
    print(f"To apply exactly this: centavo --env {context.environment.name} apply --plan {reviewed.seal.name}")
    return CHANGES


def _plan(context: Context, terraform: Terraform, acknowledged: frozenset[Danger]) -> tuple[PlanSummary, ReviewedPlan]:
    """Plans, and moves the plan file into the store of reviewed plans."""
    file = context.environment.state_directory / f"review-{os.getpid()}.tfplan"
    try:
        terraform.plan(file)
        file.chmod(0o600)
        summary = summarize_plan(context, parse_plan(terraform.show(file)), acknowledged)
        return summary, plan_store(context).keep(file, _seal(context, terraform, file, summary), render(summary))
    finally:
        file.unlink(missing_ok=True)


def _seal(context: Context, terraform: Terraform, file: Path, summary: PlanSummary) -> Seal:
    return Seal(
        environment=context.environment.name,
        plan_sha256=file_sha256(file),
        fingerprint=summary.plan.fingerprint,
        state=state_id(terraform),
        capacity_sha256=capacity_sha256(context),
        created_at=context.clock.now(),
        acknowledged=tuple(sorted(danger.value for danger in summary.verdict.acknowledged)),
        missing=tuple(danger.value for danger in summary.verdict.missing),
    )


def _provide_capacity_file(context: Context) -> None:
    """Writes the initial fleet, as `apply` would, if nothing was ever applied."""
    capacity = CapacityFile(context.environment.capacity_file)
    if not capacity.exists():
        capacity.read()
        capacity.write(context.environment.initial_fleet)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


COMMAND = Command(
    "review",
    "what would change and what it costs (exit code 0: nothing, 2: something, 3: refused by the guard)",
    review,
    add_options,
    aliases=("plan",),
)
