"""The branch of an environment's proposals, `centavo/ENV/capacity`, which belongs to the controller.

It has one commit on top of the base branch, which sets the capacity file and nothing else. The controller pushes only
over what it has seen there before (force-with-lease), and never over a person's commit.
"""

from __future__ import annotations

import re
from pathlib import Path

from controller.act.capacity import format_capacity, parse_capacity
from controller.domain import Fleet
from controller.edges.git import Git, PushRejectedError
from controller.edges.github import repository_of
from controller.review.proposing.proposal import Proposal, ProposalError

TRAILER = "Centavo-Run"


class ProposalBranch:
    """The branch of one environment's proposals, and the base branch that they are merged into."""

    def __init__(self, environment: str, capacity_file: Path, git: Git, base: str | None) -> None:
        self._git = git
        self._path = capacity_file.resolve().relative_to(git.root.resolve()).as_posix()
        self.base = base or git.default_branch()
        self.name = f"centavo/{environment}/capacity"

    def head(self) -> str | None:
        """Returns the branch's commit as it is on the remote; None if there is no such branch."""
        return self._git.fetch(self.name)

    def run_of(self, head: str) -> str:
        """Returns the run that made the branch's commit.

        Raises:
            ProposalError: The branch has somebody else's work on it.
        """
        run = re.search(rf"^{TRAILER}: (\S+)$", self._git.message(head), re.MULTILINE)
        parents = self._git.parents(head)
        if run is None or len(parents) != 1 or self._git.changed_paths(parents[0], head) != (self._path,):
            raise ProposalError(
                f"The branch {self.name} holds work that is not Centavo's; it was left as it is.",
                "Merge it or remove it; the next proposal then gets a branch of its own.",
            )
        return run[1]

    def base_fleet(self) -> Fleet | None:
        """Returns the fleet that the base branch asks for; None if it has no capacity file."""
        return self._fleet(self._fetched_base())

    def checked_base(self, proposal: Proposal) -> str:
        """Returns the base branch's commit, if its capacity file asks for the fleet that the proposal starts from.

        Raises:
            ProposalError: It asks for another fleet.
        """
        commit = self._fetched_base()
        fleet = self._fleet(commit)
        if fleet is not None and fleet != proposal.source:
            raise ProposalError(
                f"{self.base} asks for {fleet}, and {proposal.source} runs: somebody has merged another fleet.",
                f"Run `centavo apply` with that, or correct {self._path} on {self.base}; then propose again.",
            )
        return commit

    def was_merged(self, run: str) -> bool:
        """Returns whether the log of the base branch has a proposal of this run."""
        return self._git.has_in_log(self._fetched_base(), f"{TRAILER}: {run}", self._path)

    def push(self, proposal: Proposal, base: str, head: str | None) -> bool:
        """Makes the branch one commit on top of base that asks for the target. Returns whether anything was pushed.

        Raises:
            ProposalError: Somebody else has pushed meanwhile.
        """
        flavors = {*proposal.source, *proposal.target, *(self._fleet(base) or ())}
        content = format_capacity(Fleet({flavor: proposal.target.count(flavor) for flavor in flavors}))
        message = f"{proposal.title}\n\n{TRAILER}: {proposal.run}\n"
        if head is not None and self._git.parents(head) == (base,) and self._git.read(head, self._path) == content:
            return False
        try:
            self._git.push(self._git.commit_file(base, self._path, content, message), self.name, expected=head)
        except PushRejectedError as error:
            raise ProposalError(error.what, "It proposes again in the next pass; nothing is lost.") from error
        return True

    def remove(self, head: str) -> None:
        """Removes the branch, if it is still at that commit."""
        self._git.delete(self.name, expected=head)

    def compare_url(self) -> str | None:
        """Returns where a person opens the pull request by hand; None for a remote that is not on GitHub."""
        repository = repository_of(self._git.remote_url())
        return f"https://github.com/{repository}/compare/{self.base}...{self.name}?expand=1" if repository else None

    def _fetched_base(self) -> str:
        commit = self._git.fetch(self.base)
        if commit is None:
            raise ProposalError(f"The remote has no branch {self.base}.", "Name the branch to merge into with --base.")
        return commit

    def _fleet(self, commit: str) -> Fleet | None:
        content = self._git.read(commit, self._path)
        return None if content is None else parse_capacity(content, Path(f"{self.base}:{self._path}"))
