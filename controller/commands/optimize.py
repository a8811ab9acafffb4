"""`centavo optimize`: the main job, which trains and moves the training to the cheapest fleet."""

from __future__ import annotations

import argparse
from functools import partial

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.detaching import detach, is_detached, is_unfinished
from controller.commands.shared.proposing import add_proposal_options, open_proposals, with_estimates
from controller.commands.shared.reporting import add_reporting_options, check_reporting_options, reporting
from controller.commands.shared.run_report import print_reports
from controller.config.constraints import parse_asked
from controller.decide import POLICIES
from controller.loop import at_once
from controller.loop.decide_settings import check_policy
from controller.record.journal import Journal, Stage
from controller.review.proposing.approval import PullRequestApproval
from controller.review.proposing.proposals import Proposals
from controller.words.constraints import constraints_in_words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds how to decide, until when and for how much, who approves a move, and how the job reports."""
    parser.add_argument("--policy", help=f"how to decide: {', '.join(POLICIES)} (default: centavo.yml's)")
    parser.add_argument("--interval", type=float, metavar="SECONDS", help="between two looks (default: centavo.yml's)")
    parser.add_argument(
        "--deadline",
        metavar="DEADLINE",
        help="when the training shall be done: 90s, 10m or 2h30m from the run's start on, or 2026-11-21T18:00:00Z; "
        "an unfinished run keeps its own until another is given (default: centavo.yml's)",
    )
    parser.add_argument(
        "--budget",
        metavar="USD",
        help="what the whole training may cost, in US dollars, what has been spent included; kept as the deadline is "
        "(default: centavo.yml's)",
    )
    parser.add_argument(
        "--confidence",
        metavar="CHANCE",
        help="with which chance deadline and budget are to be kept: 0.95, or 95%%; kept as the deadline is "
        "(default: centavo.yml's)",
    )
    parser.add_argument(
        "--via",
        choices=["controller", "pull-request"],
        default="controller",
        help="who says when: the controller (the default), or people, by merging its proposal",
    )
    parser.add_argument(
        "--detach",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="hand the run to a controller on the head, so that this machine may go (default: centavo.yml's)",
    )
    parser.add_argument("--run", metavar="RUN", help="go on with this run only, and begin none")
    add_proposal_options(parser)
    add_reporting_options(parser)


def optimize(context: Context, options: argparse.Namespace) -> int:
    """Runs the main job, from the beginning or from where the last controller stopped.

    Every option is checked before a run is made.
    """
    policy = options.policy or context.environment.settings.controller.policy
    check_policy(policy)
    context.set_interval(options.interval)
    check_reporting_options(options)
    detached = is_detached(context, options)
    if options.run is not None and not is_unfinished(context, options.run):
        print(f"The run {options.run} has ended: there is nothing to do.")
        return 0
    proposals = open_proposals(context, options) if options.via == "pull-request" else None
    journal = context.journal(policy, parse_asked(options.deadline, options.budget, options.confidence))
    _print_head(journal, policy)
    if detached:
        with reporting(context, journal, options):
            return detach(context, journal)
    approval = None if proposals is None else pull_request_approval(context, journal, proposals)
    try:
        with reporting(context, journal, options):
            context.optimizer(journal, approval or at_once).run()
    finally:
        if journal.stage() is Stage.ENDED:
            if approval is not None:
                approval.end()
            print_reports(context, journal)
    return 0


def pull_request_approval(context: Context, journal: Journal, proposals: Proposals) -> PullRequestApproval:
    """Returns the approval of `optimize --via pull-request`."""
    return PullRequestApproval(
        context.environment.name,
        journal.info().run,
        proposals,
        partial(_note, context, journal),
        partial(with_estimates, context, journal),
    )


def _print_head(journal: Journal, policy: str) -> None:
    info = journal.info()
    asked = info.constraints
    within = "".join(f", {words}" for words in constraints_in_words(asked.deadline_at, asked.budget_usd))
    print(f"Run {info.run}, environment {info.environment}, policy {policy}{within}: {journal.directory}", flush=True)


def _note(context: Context, journal: Journal, message: str) -> None:
    now = context.clock.now()
    journal.add_event(now, "proposal", message)
    context.reporter.note(now, message)


COMMAND = Command(
    "optimize",
    "the main job: train, and move the training to the cheapest fleet; carries on an unfinished run",
    optimize,
    add_options,
    changes_things=True,
)
