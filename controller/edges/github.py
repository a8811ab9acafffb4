"""GitHub's pull requests, over its REST API: directly with a token, or through `gh` where that is logged in.

https://docs.github.com/en/rest/pulls/pulls
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from controller.domain.errors import CentavoError
from controller.edges.limited import run_within

API_URL = "https://api.github.com"
TIMEOUT_S = 30
HTTP_UNPROCESSABLE = 422


class GitHubError(CentavoError):
    """GitHub refused a request or could not be reached. `status` is its HTTP status, where there was one."""

    exit_code = 15

    def __init__(self, what: str, next_step: str = "", status: int | None = None) -> None:
        super().__init__(what, next_step)
        self.status = status


@dataclass(frozen=True)
class PullRequest:
    """One pull request."""

    number: int
    url: str
    title: str
    body: str
    is_open: bool
    is_merged: bool
    head_sha: str


class Transport(Protocol):
    """How a request reaches GitHub."""

    def send(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        """Returns the parsed answer. Raises GitHubError."""


class GitHub:
    """The pull requests of one repository (`owner/name`)."""

    def __init__(self, repository: str, transport: Transport) -> None:
        self.repository = repository
        self._transport = transport

    def pull_requests(self, branch: str) -> tuple[PullRequest, ...]:
        """Returns the pull requests from a branch of the repository itself, open or not, the newest first."""
        owner = self.repository.partition("/")[0]
        query = urllib.parse.urlencode(
            {"head": f"{owner}:{branch}", "state": "all", "sort": "created", "direction": "desc", "per_page": 30}
        )
        return tuple(_pull_request(raw) for raw in self._send("GET", f"pulls?{query}"))

    def create(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Opens a pull request. Raises GitHubError with status 422 when there is one already."""
        return _pull_request(self._send("POST", "pulls", {"head": branch, "base": base, "title": title, "body": body}))

    def update(self, number: int, **fields: str) -> PullRequest:
        """Changes title, body or state of a pull request."""
        return _pull_request(self._send("PATCH", f"pulls/{number}", fields))

    def comment(self, number: int, body: str) -> None:
        """Adds a comment to a pull request."""
        self._send("POST", f"issues/{number}/comments", {"body": body})

    def _send(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        return self._transport.send(method, f"repos/{self.repository}/{path}", payload)


class Rest:
    """Requests with a token."""

    def __init__(self, api_url: str, token: str) -> None:
        self._api_url, self._token = api_url.rstrip("/"), token

    def send(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        """Returns the parsed answer. Raises GitHubError with what GitHub said; the token is never in it."""
        request = urllib.request.Request(
            f"{self._api_url}/{path}",
            method=method,
            data=None if payload is None else json.dumps(payload).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "User-Agent": "centavo",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise _refusal(method, path, error.code, _said(error.read())) from error
        except (OSError, ValueError) as error:
            raise GitHubError(f"GitHub can't be reached at {self._api_url}: {error}.", "Try again later.") from error


class Gh:
    """Requests through the command line tool, which keeps the login."""

    def send(self, method: str, path: str, payload: Mapping[str, Any] | None = None) -> Any:
        """Returns the parsed answer. Raises GitHubError with what `gh` said."""
        body = [] if payload is None else ["--input", "-"]
        text = None if payload is None else json.dumps(payload)
        done = _gh("api", "--method", method, path, *body, stdin=text)
        if done.returncode == 0:
            return json.loads(done.stdout or "null")
        status = re.search(r"\(HTTP (\d+)\)", done.stderr)
        raise _refusal(method, path, int(status[1]) if status else None, done.stderr.strip())


def open_github(remote_url: str, environ: Mapping[str, str]) -> GitHub | None:
    """Returns the remote's repository on GitHub.

    It is spoken to with `GITHUB_TOKEN` (or `GH_TOKEN`), or by a `gh` that is logged in. None when there is neither, or
    the remote is not on GitHub.
    """
    repository = environ.get("GITHUB_REPOSITORY") or repository_of(remote_url)
    if repository is None:
        return None
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")
    if token:
        return GitHub(repository, Rest(environ.get("GITHUB_API_URL") or API_URL, token))
    if shutil.which("gh", path=environ.get("PATH")) and _gh("auth", "status").returncode == 0:
        return GitHub(repository, Gh())
    return None


def repository_of(remote_url: str) -> str | None:
    """Returns `owner/name` of a remote on a GitHub host; None for any other remote."""
    found = re.match(r"(?:https://(?:[^@/]*@)?|ssh://git@|git@)([^/:]+)[:/]+([^/]+/[^/]+?)(?:\.git)?/?$", remote_url)
    return found[2] if found and "github" in found[1] else None


def _gh(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        done = run_within(TIMEOUT_S, ["gh", *arguments], stdin=(stdin or "").encode())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitHubError(f"gh could not be run: {error}.", "Try `gh auth status`.") from error
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _pull_request(raw: Mapping[str, Any]) -> PullRequest:
    return PullRequest(
        number=int(raw["number"]),
        url=raw["html_url"],
        title=raw["title"],
        body=raw.get("body") or "",
        is_open=raw["state"] == "open",
        is_merged=bool(raw.get("merged_at") or raw.get("merged")),
        head_sha=raw["head"]["sha"],
    )


def _said(body: bytes) -> str:
    try:
        document = json.loads(body)
        details = [str(e.get("message", e)) if isinstance(e, dict) else str(e) for e in document.get("errors", ())]
        return "; ".join([str(document.get("message", "")), *details])
    except (ValueError, AttributeError):
        return body.decode(errors="replace")[:200]


def _refusal(method: str, path: str, status: int | None, said: str) -> GitHubError:
    steps = {
        401: "The token is not valid (any more): give another in GITHUB_TOKEN.",
        403: "The token needs the permission `pull-requests: write` for this repository.",
        404: "Does the repository exist, and may the token see it? Set GITHUB_REPOSITORY=owner/name.",
    }
    step = steps.get(status or 0, "Try again; proposals pick up where they were.")
    return GitHubError(f"GitHub refused {method} {path.partition('?')[0]} ({status}): {said}", step, status)
