"""Approval by people: with `optimize --via pull-request`, a move waits until its proposal was merged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from controller.domain import Decision, Fleet, Verdict
from controller.edges.git import GitError
from controller.edges.github import GitHubError
from controller.review.proposing.proposal import ProposalError
from controller.review.proposing.proposal_text import proposal_of
from controller.review.proposing.proposals import ProposalOutcome, Proposals, Proposed
from controller.words.once import Once
from controller.words.reasons import reason_in_words

Tell = Callable[[str], None]
Complete = Callable[[Decision], Decision]
"""Adds the estimates of the two fleets to a decision of a policy that compares flavors only."""
T = TypeVar("T")


class PullRequestApproval:
    """The fleet that may be moved to now, according to what people have merged. It is called once in each pass."""

    def __init__(
        self,
        environment: str,
        run: str,
        proposals: Proposals,
        tell: Tell,
        complete: Complete = lambda decision: decision,
    ) -> None:
        self._environment, self._run = environment, run
        self._proposals, self._tell, self._complete = proposals, Once(tell), complete

    def __call__(self, decision: Decision) -> Fleet | None:
        """Returns the fleet to move to, or None to stay.

        An error is reported, and the next pass tries again. The training goes on meanwhile.
        """
        return self._safely(partial(self._approved, decision))

    def end(self) -> None:
        """Closes what is still proposed, as there is nothing left to move."""
        self._safely(partial(self._withdraw, "the training has ended"))

    def _safely(self, attempt: Callable[[], T]) -> T | None:
        try:
            return attempt()
        except (GitError, GitHubError, ProposalError) as error:
            self._tell(f"no proposal was made or closed: {error.what} {error.next_step}".strip())
            return None

    def _approved(self, decision: Decision) -> Fleet | None:
        merged = self._proposals.merged(self._run)
        if merged is not None and merged != decision.current:
            self._tell(f"merged: {merged}")
            return merged
        if decision.verdict is Verdict.MOVE:
            proposal = proposal_of(self._environment, self._run, self._complete(decision))
            self._tell(describe(self._proposals.propose(proposal)))
            return None
        self._withdraw(reason_in_words(decision.reason))
        return None

    def _withdraw(self, reason: str) -> None:
        withdrawn = self._proposals.withdraw(reason)
        if withdrawn is not None:
            self._tell(f"closed the proposal {withdrawn.url}: {reason}")


def describe(proposed: Proposed) -> str:
    """Returns what an attempt to propose came to, in a sentence."""
    where = proposed.pull_request.url if proposed.pull_request else f"the branch {proposed.branch}"
    return {
        ProposalOutcome.OPENED: f"proposed in {where}; it waits for a merge",
        ProposalOutcome.UPDATED: f"brought the proposal {where} up to date; it waits for a merge",
        ProposalOutcome.UNCHANGED: f"the proposal {where} waits for a merge",
        ProposalOutcome.PUSHED: (
            f"pushed {where}; open its pull request into {proposed.base} (`centavo propose` says how)"
        ),
        ProposalOutcome.REJECTED: f"a person has closed {where}; this fleet is not proposed again in this run",
        ProposalOutcome.SUPERSEDED: f"a newer run has its proposal in {where}; this one stands back",
    }[proposed.outcome]
