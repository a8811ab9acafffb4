"""A stand-in for GitHub's API: the pull requests of one repository, kept in memory, over HTTP on loopback."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "a-token-for-the-stand-in"
REPOSITORY = "octo/training"


@dataclass
class FakeGitHub:
    """The pull requests, and what was asked. `remote` is the bare repository that the branches are in."""

    remote: Path
    url: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    fail_with: int | None = None

    @property
    def environ(self) -> dict[str, str]:
        """What makes Centavo talk to this."""
        return {"GITHUB_API_URL": self.url, "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY}

    @property
    def open(self) -> list[dict[str, Any]]:
        return [pull for pull in self.pulls if pull["state"] == "open"]

    def merge(self, number: int) -> None:
        """What the merge button does: a merge commit on the base branch, and the pull request is merged."""
        pull = self.pulls[number - 1]
        base, head = pull["base"]["ref"], pull["head"]["ref"]
        tree = self.git("rev-parse", f"{head}^{{tree}}")
        message = f"Merge pull request #{number} from {head}"
        commit = self.git("commit-tree", tree, "-p", base, "-p", head, "-m", message)
        self.git("update-ref", f"refs/heads/{base}", commit)
        pull.update(state="closed", merged_at="2026-11-21T06:00:00Z")

    def squash(self, number: int) -> None:
        """A squash merge whose message says nothing of where it came from."""
        pull = self.pulls[number - 1]
        base, head = pull["base"]["ref"], pull["head"]["ref"]
        tree = self.git("rev-parse", f"{head}^{{tree}}")
        self.git("update-ref", f"refs/heads/{base}", self.git("commit-tree", tree, "-p", base, "-m", "Squashed"))
        pull.update(state="closed", merged_at="2026-11-21T06:00:00Z")

    def git(self, *arguments: str) -> str:
        """A git command in the bare repository."""
        identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.remote, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def answer(self, method: str, path: str, query: dict[str, str], payload: dict[str, Any]) -> tuple[int, Any]:
        """Status and document, as GitHub would answer."""
        self.requests.append(f"{method} {path}")
        if self.fail_with:
            return self.fail_with, {"message": "as the test wants"}
        parts = path.strip("/").split("/")
        if parts[:3] != ["repos", *REPOSITORY.split("/")]:
            return 404, {"message": "Not Found"}
        if parts[3:] == ["pulls"]:
            return self._list(query) if method == "GET" else self._create(payload)
        number = int(parts[4])
        if parts[3] == "issues" and parts[5] == "comments":
            self.comments.append((number, payload["body"]))
            return 201, {}
        self.pulls[number - 1].update(payload)
        return 200, self.pulls[number - 1]

    def _list(self, query: dict[str, str]) -> tuple[int, Any]:
        owner, _, branch = query["head"].partition(":")
        assert owner == REPOSITORY.split("/", maxsplit=1)[0], "pull requests are asked for by owner:branch"
        found = [pull for pull in self.pulls if pull["head"]["ref"] == branch]
        return 200, list(reversed(found))

    def _create(self, payload: dict[str, Any]) -> tuple[int, Any]:
        if any(pull["head"]["ref"] == payload["head"] for pull in self.open):
            return 422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}
        number = len(self.pulls) + 1
        pull = {
            "number": number,
            "html_url": f"https://github.example/{REPOSITORY}/pull/{number}",
            "title": payload["title"],
            "body": payload["body"],
            "state": "open",
            "merged_at": None,
            "head": {"ref": payload["head"], "sha": self.git("rev-parse", payload["head"])},
            "base": {"ref": payload["base"]},
        }
        self.pulls.append(pull)
        return 201, pull


@contextmanager
def serving(github: FakeGitHub) -> Iterator[FakeGitHub]:
    """Answers on a free port while inside."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def do_PATCH(self) -> None:
            self._serve()

        def _serve(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
            payload = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            status, document = 401, {"message": "Bad credentials"}
            if self.headers.get("Authorization") == f"Bearer {TOKEN}":
                status, document = github.answer(self.command, url.path, query, payload)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: tests look at `requests`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    github.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
