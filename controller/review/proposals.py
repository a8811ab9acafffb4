"""Proposals: instead of applying a decision, the controller asks for it in one pull request per environment.

The branch `centavo/ENV/capacity` belongs to the controller. It has one commit on top of the base branch, which sets the
capacity file and nothing else. The controller pushes only over what it has seen there before (force-with-lease), and
never over a person's commit. If two runs propose, the newer one has the branch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from controller.act.capacity import format_capacity, parse_capacity
from controller.domain import Fleet
from controller.domain.errors import CentavoError
from controller.edges.git import Git, PushRejectedError
from controller.edges.github import HTTP_UNPROCESSABLE, GitHub, GitHubError, PullRequest, repository_of
from controller.review.proposal_mark import MARKER, Mark, read_mark

TRAILER = "Centavo-Run"


class ProposalError(CentavoError):
    """A proposal can't be made. What somebody else proposed or changed was left as it is."""


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
class Proposal:
    """A fleet that is proposed, with the text that says why."""

    run: str
    source: Fleet
    target: Fleet
    title: str
    body: str
    """The text without the mark, which is added to it."""


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
        self._git, self._github = git, github
        self.base = base or git.default_branch()
        self.branch = f"centavo/{environment}/capacity"
        self._path = capacity_file.resolve().relative_to(git.root.resolve()).as_posix()

    def propose(self, proposal: Proposal) -> Proposed:
        """Pushes the proposal and opens or updates its pull request.

        Raises:
            ProposalError: The base branch asks for another fleet, the branch has somebody's work on it, or another
                controller was faster. What is there is left as it is.
        """
        newest = self._newest()
        if self._was_rejected(proposal, newest):
            return Proposed(ProposalOutcome.REJECTED, self.branch, self.base, newest)
        base = self._checked_base(proposal)
        head = self._git.fetch(self.branch)
        open_one = newest if newest is not None and newest.is_open else None
        if head is not None and self._run_of(head) > proposal.run:
            return Proposed(ProposalOutcome.SUPERSEDED, self.branch, self.base, open_one)
        has_pushed = self._push(proposal, base, head)
        if self._github is None:
            return Proposed(ProposalOutcome.PUSHED, self.branch, self.base)
        return self._ask(self._github, proposal, open_one, has_pushed)

    def withdraw(self, reason: str) -> PullRequest | None:
        """Closes the open pull request as outdated, with the reason, and removes the branch.

        Returns the pull request, or None if there was none.
        """
        pull_request, head = self._open(), self._git.fetch(self.branch)
        if head is not None:
            self._run_of(head)
        if self._github is not None and pull_request is not None:
            mark = read_mark(pull_request.body)
            if mark is not None:
                text = replace(mark, withdrawn=True).text()
                self._github.update(pull_request.number, body=MARKER.sub(lambda _: text, pull_request.body))
            self._github.comment(pull_request.number, f"Outdated, so Centavo closes this: {reason}")
            pull_request = self._github.update(pull_request.number, state="closed")
        if head is not None:
            self._git.delete(self.branch, expected=head)
        return pull_request

    def merged(self, run: str) -> Fleet | None:
        """Returns the fleet that the base branch asks for, once a proposal of this run was merged into it.

        A person may have changed the fleet on the way. Returns None while nothing was merged.
        """
        if not self._git.has_in_log(self._fetched_base(), f"{TRAILER}: {run}", self._path) and not self._is_merged(run):
            return None
        return self._fleet(self._fetched_base())

    def body_of(self, proposal: Proposal) -> str:
        """Returns the pull request's body: the text and the mark."""
        return f"{proposal.body.rstrip()}\n\n{Mark(proposal.run, proposal.source, proposal.target).text()}\n"

    def compare_url(self) -> str | None:
        """Returns where a person opens the pull request by hand; None for a remote that is not on GitHub."""
        repository = repository_of(self._git.remote_url())
        return f"https://github.com/{repository}/compare/{self.base}...{self.branch}?expand=1" if repository else None

    def _is_merged(self, run: str) -> bool:
        """Returns whether GitHub says that it was merged: a squash may have dropped the commit's message."""
        newest = self._newest()
        mark = read_mark(newest.body) if newest is not None and newest.is_merged else None
        return mark is not None and mark.run == run

    def _newest(self) -> PullRequest | None:
        return None if self._github is None else next(iter(self._github.pull_requests(self.branch)), None)

    def _was_rejected(self, proposal: Proposal, newest: PullRequest | None) -> bool:
        """Returns whether a person has closed this very proposal. Those that Centavo closes are marked as withdrawn."""
        mark = read_mark(newest.body) if newest is not None and not newest.is_open and not newest.is_merged else None
        return mark is not None and not mark.withdrawn and (mark.run, mark.target) == (proposal.run, proposal.target)

    def _fetched_base(self) -> str:
        commit = self._git.fetch(self.base)
        if commit is None:
            raise ProposalError(f"The remote has no branch {self.base}.", "Name the branch to merge into with --base.")
        return commit

    def _fleet(self, commit: str) -> Fleet | None:
        content = self._git.read(commit, self._path)
        return None if content is None else parse_capacity(content, Path(f"{self.base}:{self._path}"))

    def _checked_base(self, proposal: Proposal) -> str:
        """Returns the base branch's commit, if its capacity file asks for the fleet that the proposal starts from."""
        commit = self._fetched_base()
        fleet = self._fleet(commit)
        if fleet is not None and fleet != proposal.source:
            raise ProposalError(
                f"{self.base} asks for {fleet}, and {proposal.source} runs: somebody has merged another fleet.",
                f"Run `centavo apply` with that, or correct {self._path} on {self.base}; then propose again.",
            )
        return commit

    def _run_of(self, head: str) -> str:
        """Returns the run that made the branch's commit.

        Raises:
            ProposalError: The branch has somebody else's work on it.
        """
        run = re.search(rf"^{TRAILER}: (\S+)$", self._git.message(head), re.MULTILINE)
        parents = self._git.parents(head)
        if run is None or len(parents) != 1 or self._git.changed_paths(parents[0], head) != (self._path,):
            raise ProposalError(
                f"The branch {self.branch} holds work that is not Centavo's; it was left as it is.",
                "Merge it or remove it; the next proposal then gets a branch of its own.",
            )
        return run[1]

    def _push(self, proposal: Proposal, base: str, head: str | None) -> bool:
        """Makes the branch one commit on top of base that asks for the target. Returns whether anything was pushed."""
        flavors = {*proposal.source, *proposal.target, *(self._fleet(base) or ())}
        content = format_capacity(Fleet({flavor: proposal.target.count(flavor) for flavor in flavors}))
        message = f"{proposal.title}\n\n{TRAILER}: {proposal.run}\n"
        if head is not None and self._git.parents(head) == (base,) and self._git.read(head, self._path) == content:
            return False
        try:
            self._git.push(self._git.commit_file(base, self._path, content, message), self.branch, expected=head)
        except PushRejectedError as error:
            raise ProposalError(error.what, "It proposes again in the next pass; nothing is lost.") from error
        return True

    def _ask(self, github: GitHub, proposal: Proposal, found: PullRequest | None, has_pushed: bool) -> Proposed:
        body = self.body_of(proposal)
        if found is None:
            try:
                created = github.create(self.branch, self.base, proposal.title, body)
                return Proposed(ProposalOutcome.OPENED, self.branch, self.base, created)
            except GitHubError as error:
                found = self._open() if error.status == HTTP_UNPROCESSABLE else None
                if found is None:
                    raise
        if not has_pushed and (found.title, found.body.strip()) == (proposal.title, body.strip()):
            return Proposed(ProposalOutcome.UNCHANGED, self.branch, self.base, found)
        before = read_mark(found.body)
        if before is not None and before.target != proposal.target:
            github.comment(found.number, f"This now proposes {proposal.target} in place of {before.target}.")
        updated = github.update(found.number, title=proposal.title, body=body)
        return Proposed(ProposalOutcome.UPDATED, self.branch, self.base, updated)

    def _open(self) -> PullRequest | None:
        newest = self._newest()
        return newest if newest is not None and newest.is_open else None
