"""Proposals: instead of applying a decision, the controller asks for it in one pull request per environment.

If two runs propose, the newer one has the pull request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from controller.domain import Fleet
from controller.edges.git import Git
from controller.edges.github import HTTP_UNPROCESSABLE, GitHub, GitHubError, PullRequest
from controller.review.proposing.proposal import Proposal
from controller.review.proposing.proposal_branch import ProposalBranch
from controller.review.proposing.proposal_mark import MARKER, Mark, read_mark


class ProposalOutcome(str, Enum):
    """What became of the attempt to propose a fleet."""

    OPENED = "opened"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    PUSHED = "pushed"
    """The branch is pushed. A person opens the pull request, because GitHub's API can't be used from here."""
    REJECTED = "rejected"
    """A person has closed this very proposal of this run, so it is not made again."""
    SUPERSEDED = "superseded"
    """A newer run proposes something."""


@dataclass(frozen=True)
class Proposed:
    """What an attempt to propose came to."""

    outcome: ProposalOutcome
    branch: str
    base: str
    pull_request: PullRequest | None = None


class Proposals:
    """The proposals of one environment. Without GitHub's API (`github` is None), branches are pushed all the same."""

    def __init__(
        self, environment: str, capacity_file: Path, git: Git, github: GitHub | None, base: str | None
    ) -> None:
        self.branch = ProposalBranch(environment, capacity_file, git, base)
        self._github = github

    def propose(self, proposal: Proposal) -> Proposed:
        """Pushes the proposal and opens or updates its pull request.

        Raises:
            ProposalError: The base branch asks for another fleet, the branch has somebody's work on it, or another
                controller was faster. What is there is left as it is.
        """
        newest = self._newest()
        if _was_rejected(proposal, newest):
            return self._proposed(ProposalOutcome.REJECTED, newest)
        base, head = self.branch.checked_base(proposal), self.branch.head()
        open_one = newest if newest is not None and newest.is_open else None
        if head is not None and self.branch.run_of(head) > proposal.run:
            return self._proposed(ProposalOutcome.SUPERSEDED, open_one)
        has_pushed = self.branch.push(proposal, base, head)
        if self._github is None:
            return self._proposed(ProposalOutcome.PUSHED)
        return self._ask(self._github, proposal, open_one, has_pushed)

    def withdraw(self, reason: str) -> PullRequest | None:
        """Closes the open pull request as outdated, with the reason, and removes the branch.

        Returns the pull request, or None if there was none.
        """
        pull_request, head = self._open(), self.branch.head()
        if head is not None:
            self.branch.run_of(head)
        if self._github is not None and pull_request is not None:
            pull_request = _close(self._github, pull_request, reason)
        if head is not None:
            self.branch.remove(head)
        return pull_request

    def merged(self, run: str) -> Fleet | None:
        """Returns the fleet that the base branch asks for, once a proposal of this run was merged into it.

        A person may have changed the fleet on the way. Returns None while nothing was merged.
        """
        return self.branch.base_fleet() if self.branch.was_merged(run) or self._is_merged(run) else None

    def _is_merged(self, run: str) -> bool:
        """Returns whether GitHub says that it was merged: a squash may have dropped the commit's message."""
        newest = self._newest()
        mark = read_mark(newest.body) if newest is not None and newest.is_merged else None
        return mark is not None and mark.run == run

    def _newest(self) -> PullRequest | None:
        return None if self._github is None else next(iter(self._github.pull_requests(self.branch.name)), None)

    def _open(self) -> PullRequest | None:
        newest = self._newest()
        return newest if newest is not None and newest.is_open else None

    def _proposed(self, outcome: ProposalOutcome, pull_request: PullRequest | None = None) -> Proposed:
        return Proposed(outcome, self.branch.name, self.branch.base, pull_request)

    def _ask(self, github: GitHub, proposal: Proposal, found: PullRequest | None, has_pushed: bool) -> Proposed:
        """Opens the pull request, or brings the one that was found up to date."""
        body = body_of(proposal)
        if found is None:
            try:
                created = github.create(self.branch.name, self.branch.base, proposal.title, body)
                return self._proposed(ProposalOutcome.OPENED, created)
            except GitHubError as error:
                found = self._open() if error.status == HTTP_UNPROCESSABLE else None
                if found is None:
                    raise
        if not has_pushed and (found.title, found.body.strip()) == (proposal.title, body.strip()):
            return self._proposed(ProposalOutcome.UNCHANGED, found)
        before = read_mark(found.body)
        if before is not None and before.target != proposal.target:
            github.comment(found.number, f"This now proposes {proposal.target} in place of {before.target}.")
        updated = github.update(found.number, title=proposal.title, body=body)
        return self._proposed(ProposalOutcome.UPDATED, updated)


def body_of(proposal: Proposal) -> str:
    """Returns the pull request's body: the text and the mark."""
    return f"{proposal.body.rstrip()}\n\n{Mark(proposal.run, proposal.source, proposal.target).text()}\n"


def _was_rejected(proposal: Proposal, newest: PullRequest | None) -> bool:
    """Returns whether a person has closed this very proposal. Those that Centavo closes are marked as withdrawn."""
    mark = read_mark(newest.body) if newest is not None and not newest.is_open and not newest.is_merged else None
    return mark is not None and not mark.withdrawn and (mark.run, mark.target) == (proposal.run, proposal.target)


def _close(github: GitHub, pull_request: PullRequest, reason: str) -> PullRequest:
    """Closes a pull request with a comment, after marking it as withdrawn."""
    mark = read_mark(pull_request.body)
    if mark is not None:
        text = replace(mark, withdrawn=True).text()
        github.update(pull_request.number, body=MARKER.sub(lambda _: text, pull_request.body))
    github.comment(pull_request.number, f"Outdated, so Centavo closes this: {reason}")
    return github.update(pull_request.number, state="closed")
