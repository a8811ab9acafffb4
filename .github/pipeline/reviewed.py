"""Finds what people have reviewed and acknowledged, for the workflows `plan` and `apply`.

    reviewed.py pull-request NUMBER       what is acknowledged in a pull request
    reviewed.py commit SHA                which run planned the pull request of a merged commit, what is acknowledged
    reviewed.py by-hand LOGIN DANGERS     what somebody may acknowledge who starts the workflow `apply` by hand

A danger is acknowledged by a label such as `acknowledge:change-iam`. The label counts if three things hold: whoever set
it has the role maintain or admin, is not the author of the pull request, and set it after the last push. GitHub says
all three. Nothing that a pull request has in its files, or that its runs leave behind, acknowledges anything.

The results go to the file that GITHUB_OUTPUT names. GITHUB_API_URL, GITHUB_REPOSITORY and GITHUB_TOKEN say which
repository is asked. The script needs Python only, and runs from a checkout of the base branch.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARTIFACT = "reviewed-aws"
WORKFLOW = "plan.yml"
PREFIX = "acknowledge:"
DANGER = re.compile(r"[a-z][a-z-]{0,40}")
ROLES = ("maintain", "admin")
PAGE, MOST_PAGES = 100, 30
TIMEOUT_S = 30
NOT_FOUND = 404

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Label:
    """A label as it was last set: what it acknowledges, who set it, and when (ISO 8601, UTC)."""

    danger: str
    by: str
    at: str


class Repository:
    """One repository on GitHub, over its REST API (https://docs.github.com/en/rest)."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.name, self._token = environ["GITHUB_REPOSITORY"], environ["GITHUB_TOKEN"]
        self._url = f"{environ.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{self.name}"

    def get(self, path: str, **query: str | int) -> Any:
        """Returns a parsed answer; None if GitHub knows no such thing. Raises URLError."""
        url = f"{self._url}/{path}?{urllib.parse.urlencode(query)}"
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/vnd.github+json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    def all(self, path: str, key: str | None = None, **query: str | int) -> list[Document]:
        """Returns the entries of all pages; `key` names the list in a page that is no list itself."""
        found: list[Document] = []
        for page in range(1, MOST_PAGES + 1):
            answer = self.get(path, per_page=PAGE, page=page, **query) or []
            entries = answer if key is None else answer[key] if answer else []
            found += entries
            if len(entries) < PAGE:
                return found
        sys.exit(f"GitHub has more than {PAGE * MOST_PAGES} entries under {path}. Start the workflow `apply` by hand.")

    def may_acknowledge(self, login: str) -> bool:
        """Returns whether a person has a role in the repository that may acknowledge dangers."""
        found = self.get(f"collaborators/{urllib.parse.quote(login, safe='')}/permission") or {}
        return found.get("role_name") in ROLES


def acknowledged(repository: Repository, pull: Document) -> list[str]:
    """Returns the dangers that labels of a pull request acknowledge. Says of each other label why it does not count."""
    events = repository.all(f"issues/{pull['number']}/events")
    pushed_at = _last_push(repository, pull, events)
    found = []
    for label in labels_of(events):
        why_not = _why_not(repository, pull, label, pushed_at)
        if why_not is None:
            found.append(label.danger)
        else:
            print(f"::notice::The label {PREFIX}{label.danger} does not count: {why_not}.")
    return sorted(found)


def labels_of(events: Sequence[Document]) -> list[Label]:
    """Returns the acknowledging labels that a pull request has, from the events that set and removed labels."""
    found: dict[str, Label] = {}
    for event in sorted(events, key=lambda event: (event["created_at"], event["id"])):
        name = (event.get("label") or {}).get("name", "")
        danger = name.removeprefix(PREFIX)
        if not name.startswith(PREFIX) or not DANGER.fullmatch(danger):
            continue
        if event["event"] == "labeled":
            found[danger] = Label(danger, (event.get("actor") or {}).get("login", ""), event["created_at"])
        elif event["event"] == "unlabeled":
            found.pop(danger, None)
    return list(found.values())


def _last_push(repository: Repository, pull: Document, events: Sequence[Document]) -> str | None:
    """Returns when the last commit came, by GitHub's own clock; None if GitHub has no run for it.

    The dates in commits are written by whoever commits. So the first run for the commit counts, and the last forced
    push: a forced push may bring back a commit that had a run before.
    """
    runs = [run["created_at"] for run in _runs(repository, pull) if run["head_branch"] == pull["head"]["ref"]]
    forced = [event["created_at"] for event in events if event["event"] == "head_ref_force_pushed"]
    return max([min(runs), *forced]) if runs else None


def _why_not(repository: Repository, pull: Document, label: Label, pushed_at: str | None) -> str | None:
    if label.by == pull["user"]["login"]:
        return "the author of the pull request has set it"
    if pushed_at is None or label.at < pushed_at:
        return "it was set before the last push. Look at the new plan, remove the label and set it again"
    if not label.by or not repository.may_acknowledge(label.by):
        return f"only people with the role {' or '.join(ROLES)} may set it"
    return None


def _runs(repository: Repository, pull: Document) -> list[Document]:
    """Returns the runs that planned the last commit of a pull request of this repository, the newest first."""
    query = {"event": "pull_request", "head_sha": pull["head"]["sha"]}
    runs = repository.all(f"actions/workflows/{WORKFLOW}/runs", "workflow_runs", **query)
    return [run for run in runs if (run.get("head_repository") or {}).get("full_name") == repository.name]


def planned_by(repository: Repository, pull: Document) -> int | None:
    """Returns the newest successful run that has kept the outline of its plan; None if there is none."""
    for run in _runs(repository, pull):
        if run["conclusion"] == "success":
            kept = repository.all(f"actions/runs/{run['id']}/artifacts", "artifacts", name=ARTIFACT)
            if any(not artifact["expired"] for artifact in kept):
                return int(run["id"])
    return None


def of_pull_request(repository: Repository, number: str) -> dict[str, str]:
    """Returns what is acknowledged in a pull request."""
    pull = repository.get(f"pulls/{int(number)}")
    if pull is None:
        sys.exit(f"GitHub knows no pull request {number} of {repository.name}.")
    return {"acknowledged": " ".join(acknowledged(repository, pull))}


def of_commit(repository: Repository, sha: str) -> dict[str, str]:
    """Returns whether to go on after a merge, the run whose plan was reviewed, and what is acknowledged."""
    pulls = [pull for pull in repository.all(f"commits/{sha}/pulls") if pull["merged_at"]]
    merged = [pull for pull in pulls if pull["base"]["ref"] == "main" and pull["merge_commit_sha"] == sha]
    if not merged:
        print("::notice::This commit came without a pull request. To apply it, start this workflow by hand.")
        return {"go": "false"}
    run = planned_by(repository, merged[0])
    if run is None:
        print(
            f"::notice::No plan is kept for #{merged[0]['number']}: it changes nothing, or it has expired. "
            "To apply, start this workflow by hand."
        )
        return {"go": "false"}
    return {"go": "true", "run": str(run), "acknowledged": " ".join(acknowledged(repository, merged[0]))}


def by_hand(repository: Repository, login: str, dangers: str) -> dict[str, str]:
    """Returns what somebody acknowledges who starts the workflow by hand. Ends the script if that is not allowed."""
    asked = dangers.split()
    wrong = [danger for danger in asked if not DANGER.fullmatch(danger)]
    if wrong:
        sys.exit(f"Not a danger: {wrong[0]!a}. Give words such as `change-iam`, with spaces between them.")
    if asked and not repository.may_acknowledge(login):
        sys.exit(f"{login} may not acknowledge a danger: that needs the role {' or '.join(ROLES)}.")
    return {"go": "true", "run": "", "acknowledged": " ".join(asked)}


COMMANDS = {"pull-request": of_pull_request, "commit": of_commit, "by-hand": by_hand}


def main(arguments: Sequence[str]) -> None:
    """Runs the command that the arguments name, and writes its results."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None or len(arguments) != command.__code__.co_argcount:
        sys.exit(str(__doc__))
    try:
        results = command(Repository(os.environ), *arguments[1:])
    except urllib.error.URLError as error:
        sys.exit(f"GitHub can't be asked: {error}. Run this job again.")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.writelines(f"{name}={value}\n" for name, value in results.items())
    print(", ".join(f"{name}: {value or 'none'}" for name, value in results.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
