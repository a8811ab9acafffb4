"""`centavo review`, also called `plan`: what would change and what it costs.

Exit codes, for a pipeline: 0 nothing changes, 2 something changes, 3 refused by the guard, 20 the plan is not the one
that was reviewed (`--reviewed`), 1 an error.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from controller.commands.context import Context
from controller.commands.shared.acknowledging import acknowledged_by, add_acknowledge_option
from controller.commands.shared.command import Command
from controller.commands.shared.judged_plan import summarize_plan
from controller.commands.shared.reviewed_plans import (
    capacity_sha256,
    plan_store,
    provide_capacity_file,
    ready_terraform,
    state_id,
)
from controller.domain.errors import CentavoError, GuardError, StoppedError
from controller.edges.files import write_whole
from controller.edges.terraform import Terraform
from controller.edges.terraform_plan import parse_plan
from controller.review.plans.dangers import Danger, as_options
from controller.review.plans.outline_differences import PlanDiffersError, require_same
from controller.review.plans.outline_file import read_outline, write_outline
from controller.review.plans.plan_outline import PlanOutline, outline_of
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
    """Adds what is acknowledged, what the plan is compared with, and where Markdown and outline are written."""
    add_acknowledge_option(parser)
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the review for a pull request there as well"
    )
    parser.add_argument(
        "--outline", type=Path, metavar="FILE", help="write there what changes, for `apply --reviewed` elsewhere"
    )
    parser.add_argument(
        "--reviewed", type=Path, metavar="FILE", help="fail if the plan is not the one with this outline"
    )


def review(context: Context, options: argparse.Namespace) -> int:
    """Plans, prints what the plan comes to, and keeps the plan for `apply --plan`.

    Raises:
        ReviewError: Something went wrong on the way.
    """
    try:
        return _review(context, options)
    except (GuardError, PlanDiffersError, StoppedError):
        raise
    except CentavoError as error:
        raise ReviewError(error.what, error.next_step) from error


def _review(context: Context, options: argparse.Namespace) -> int:
    context.check_first_fleet()
    expected = read_outline(options.reviewed, context.environment.name) if options.reviewed else None
    terraform = ready_terraform(context)
    provide_capacity_file(context)
    summary, reviewed = _plan(context, terraform, acknowledged_by(options))
    outline = outline_of(summary.plan)
    _write_for_others(context, options, reviewed, outline)
    print_review(summary, _console())
    if expected is not None:
        require_same(expected, outline)
    print(f"For a pull request: {options.markdown or reviewed.review_file}")
    if summary.plan.is_empty:
        return NO_CHANGE
    if summary.verdict.is_refused:
        return REFUSED
    meant = as_options(summary.verdict.found)
    print(f"To apply exactly this: centavo --env {context.environment.name} apply --plan {reviewed.seal.name}{meant}")
    return CHANGES


def _write_for_others(
    context: Context, options: argparse.Namespace, reviewed: ReviewedPlan, outline: PlanOutline
) -> None:
    if options.markdown:
        write_whole(options.markdown, reviewed.review_file.read_bytes())
    if options.outline:
        write_outline(options.outline, context.environment.name, outline)


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
        fingerprint=outline_of(summary.plan).fingerprint,
        state=state_id(terraform),
        capacity_sha256=capacity_sha256(context),
        created_at=context.clock.now(),
    )


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


COMMAND = Command(
    "review",
    "what would change and what it costs (exit code 0: nothing, 2: something, 3: refused, 20: not what was reviewed)",
    review,
    add_options,
    aliases=("plan",),
)
