"""Git, for proposals: commits one file to a branch of the remote without touching the working tree or the index."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from controller.domain.errors import CentavoError
from controller.edges.limited import run_within

TIMEOUT_S = 120
NAME, EMAIL = "Centavo", "centavo@users.noreply.github.com"
"""Who commits where no name is configured, as in a pipeline."""


class GitError(CentavoError):
    """A git command failed."""

    exit_code = 14


class PushRejectedError(GitError):
    """The remote branch is no longer what it was when it was looked at: somebody else was faster."""


class Git:
    """The repository that holds a folder, and one of its remotes."""

    def __init__(self, folder: Path, remote: str = "origin") -> None:
        self._folder, self.remote = folder, remote
        self.root = Path(self._text("rev-parse", "--show-toplevel"))

    def remote_url(self) -> str:
        """Returns the remote's address. Raises GitError when there is no such remote."""
        return self._text("remote", "get-url", self.remote)

    def default_branch(self) -> str:
        """Returns the branch that the remote's HEAD points to."""
        for line in self._text("ls-remote", "--symref", self.remote, "HEAD").splitlines():
            if line.startswith("ref: refs/heads/"):
                return line.split()[1].removeprefix("refs/heads/")
        raise GitError(f"{self.remote_url()} has no default branch.", "Name the branch with --base.")

    def fetch(self, branch: str) -> str | None:
        """Brings the remote branch's commit here and gives its id; None when there is no such branch."""
        ref = f"refs/heads/{branch}"
        listed = self._text("ls-remote", self.remote, ref).split()
        if not listed:
            return None
        kept = f"refs/centavo/{branch}"  # kept away from the person's own remote-tracking branches
        self._run("fetch", "--no-tags", "--quiet", self.remote, f"+{ref}:{kept}")
        return self._text("rev-parse", kept)

    def read(self, commit: str, path: str) -> bytes | None:
        """Returns a file's content in a commit; None when it is not there."""
        done = self._try("cat-file", "blob", f"{commit}:{path}")
        return done.stdout if done.returncode == 0 else None

    def message(self, commit: str) -> str:
        """Returns a commit's whole message."""
        return self._text("show", "--no-patch", "--format=%B", commit)

    def parents(self, commit: str) -> tuple[str, ...]:
        """Returns the ids of a commit's parents."""
        return tuple(self._text("show", "--no-patch", "--format=%P", commit).split())

    def changed_paths(self, base: str, commit: str) -> tuple[str, ...]:
        """Returns the files in which two commits differ."""
        return tuple(self._text("diff", "--name-only", base, commit).splitlines())

    def has_in_log(self, commit: str, line: str, path: str) -> bool:
        """Returns whether the message of a commit that changed the file, `commit` or an earlier one, has this line."""
        messages = self._text("log", "--format=%B", commit, "--", path)
        return line in messages.splitlines()

    def commit_file(self, base: str, path: str, content: bytes, message: str) -> str:
        """Makes a commit on top of `base` that sets one file. Nothing in the working tree changes. Returns its id."""
        blob = self._text("hash-object", "-w", "--stdin", stdin=content)
        with tempfile.TemporaryDirectory(prefix="centavo-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._run("read-tree", base, environment=index)
            self._run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", environment=index)
            tree = self._text("write-tree", environment=index)
        return self._text("commit-tree", tree, "-p", base, stdin=message.encode(), environment=self._identity())

    def push(self, commit: str, branch: str, expected: str | None) -> None:
        """Makes the remote branch this commit, if it still is at `expected` (None: does not exist). Raises
        PushRejectedError when it is not."""
        self._push(f"{commit}:refs/heads/{branch}", branch, expected)

    def delete(self, branch: str, expected: str) -> None:
        """Removes the remote branch, if it still is at `expected`."""
        self._push(f":refs/heads/{branch}", branch, expected)

    def _push(self, refspec: str, branch: str, expected: str | None) -> None:
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        done = self._try("push", "--porcelain", lease, self.remote, refspec)
        if done.returncode == 0:
            return
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        if "stale info" in said or "fetch first" in said or "cannot lock ref" in said:
            raise PushRejectedError(f"The branch {branch} was changed by someone else meanwhile; it was left as it is.")
        raise GitError(f"git push to {branch} failed:\n{said}", "May this machine push there? Try `git push` by hand.")

    def _identity(self) -> dict[str, str]:
        if self._try("config", "user.email").stdout.strip():
            return {}
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", NAME), ("EMAIL", EMAIL))
        }

    def _text(self, *arguments: str, stdin: bytes | None = None, environment: dict[str, str] | None = None) -> str:
        return self._run(*arguments, stdin=stdin, environment=environment).decode().strip()

    def _run(self, *arguments: str, stdin: bytes | None = None, environment: dict[str, str] | None = None) -> bytes:
        done = self._try(*arguments, stdin=stdin, environment=environment)
        if done.returncode:
            raise GitError(
                f"git {arguments[0]} failed in {self._folder}: {done.stderr.decode(errors='replace').strip()}",
                "Proposals need a git checkout with a remote that can be reached; `git fetch` shows whether it can.",
            )
        return done.stdout

    def _try(
        self, *arguments: str, stdin: bytes | None = None, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        settings = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(environment or {})}
        try:
            return run_within(
                TIMEOUT_S, ["git", *arguments], stdin=stdin or b"", folder=self._folder, environment=settings
            )
        except FileNotFoundError as error:
            raise GitError(
                "The command git was not found.", "Install git, or propose from a machine that has it."
            ) from error
        except subprocess.TimeoutExpired as error:
            raise GitError(
                f"git {arguments[0]} did not end within {TIMEOUT_S} s.", "Is the remote within reach?"
            ) from error
