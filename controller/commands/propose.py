"""`centavo propose`: asks for the cheapest fleet in a pull request, in place of moving there."""

from __future__ import annotations

import argparse
import shlex

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.commands.shared.proposing import add_proposal_options, open_proposals, with_estimates
from controller.domain import Decision, Verdict
from controller.loop import decide_on
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run
from controller.review.proposing.approval import describe
from controller.review.proposing.proposal import Proposal, ProposalError
from controller.review.proposing.proposal_text import proposal_of
from controller.review.proposing.proposals import ProposalOutcome, Proposals, body_of
from controller.words.reasons import reason_in_words


def propose(context: Context, options: argparse.Namespace) -> int:
    """Observes, decides, and proposes the decision. Closes an open proposal that is not worth it any more.

    Raises:
        ProposalError: No training runs, or the proposal can't be made.
    """
    journal = _running(context)
    decision = _decision(context, journal)
    proposals = open_proposals(context, options)
    if decision.verdict is not Verdict.MOVE:
        _withdraw(proposals, reason_in_words(decision.reason))
        return 0
    decision = with_estimates(context, journal, decision)
    proposal = proposal_of(context.environment.name, journal.info().run, decision)
    proposed = proposals.propose(proposal)
    print(f"{proposal.title}: {describe(proposed)}.")
    if proposed.outcome is ProposalOutcome.PUSHED:
        _print_for_a_person(context, proposals, proposal)
    return 0


def _running(context: Context) -> Journal:
    journal = latest_run(context.environment.runs_directory)
    if journal is None or journal.info().environment != context.environment.name or journal.stage() is Stage.ENDED:
        raise ProposalError("No training runs, so nothing can be measured.", "`centavo optimize --via pull-request`")
    return journal


def _decision(context: Context, journal: Journal) -> Decision:
    cluster = context.cluster(journal)
    decide = context.decider(cluster, journal.info().policy)
    return decide_on(cluster.observer.look(), journal, cluster.costs.prices(), context.environment.limits(), decide)


def _withdraw(proposals: Proposals, reason: str) -> None:
    withdrawn = proposals.withdraw(reason)
    print(f"Nothing to propose: {reason}" + (f"\nClosed {withdrawn.url}." if withdrawn else ""))


def _print_for_a_person(context: Context, proposals: Proposals, proposal: Proposal) -> None:
    """Prints the body, and the command that opens the pull request with it."""
    file = context.environment.state_directory / "proposal.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    body, branch = body_of(proposal), proposals.branch
    file.write_text(body, encoding="utf-8")
    print(f"\n{body}")
    if branch.compare_url() is not None:
        print(f"Open it at {branch.compare_url()}, or with:")
    command = ["gh", "pr", "create", "--head", branch.name, "--base", branch.base]
    print(shlex.join([*command, "--title", proposal.title, "--body-file", str(file)]))


COMMAND = Command(
    "propose",
    "ask for the cheapest fleet in a pull request, in place of moving there; closes an outdated proposal",
    propose,
    add_proposal_options,
)
