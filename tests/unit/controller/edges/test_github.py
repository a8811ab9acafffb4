"""Which repository a remote is, and how it is talked to: with a token, through `gh`, or not at all."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from controller.edges.github import Gh, GitHub, GitHubError, Rest, open_github, repository_of

GH = """#!{python}
import json, sys
arguments, log = sys.argv[1:], {log!r}
body = sys.stdin.read()
open(log, "a").write(json.dumps([arguments, body]) + "\\n")
if arguments[:2] == ["auth", "status"]:
    sys.exit({auth})
if "pulls/404" in " ".join(arguments):
    print("gh: Not Found (HTTP 404)", file=sys.stderr)
    sys.exit(1)
print(json.dumps({{"number": 7, "html_url": "u", "title": "t", "body": None, "state": "open", "head": {{"sha": "s"}}}}))
"""


def install_gh(folder: Path, monkeypatch: pytest.MonkeyPatch, auth: int = 0) -> Path:
    """A stand-in for `gh` on the PATH that writes down what it is asked."""
    log = folder / "gh.log"
    gh = folder / "gh"
    gh.write_text(GH.format(python=sys.executable, log=str(log), auth=auth))
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return log


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("git@github.com:octo/training.git", "octo/training"),
        ("https://github.com/octo/training", "octo/training"),
        ("https://someone:secret@github.com/octo/training.git", "octo/training"),
        ("ssh://git@github.example.com/octo/training.git", "octo/training"),
        ("https://gitlab.com/octo/training.git", None),
        ("/srv/git/training.git", None),
    ],
)
def test_a_remote_names_its_repository(url: str, repository: str | None) -> None:
    assert repository_of(url) == repository


def test_a_token_is_used_directly() -> None:
    client = open_github("git@github.com:octo/training.git", {"GITHUB_TOKEN": "t"})
    assert client is not None and client.repository == "octo/training"
    assert isinstance(client._transport, Rest)


def test_gh_is_used_where_it_is_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = install_gh(tmp_path, monkeypatch)
    client = open_github("git@github.com:octo/training.git", {"PATH": str(tmp_path)})
    assert client is not None
    pull = client.create("branch", "main", "title", "body")
    assert (pull.number, pull.body, pull.is_open) == (7, "", True)
    arguments, body = json.loads(log.read_text().splitlines()[-1])
    assert arguments == ["api", "--method", "POST", "repos/octo/training/pulls", "--input", "-"]
    assert json.loads(body) == {"head": "branch", "base": "main", "title": "title", "body": "body"}


def test_what_gh_refuses_is_told_with_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_gh(tmp_path, monkeypatch)
    with pytest.raises(GitHubError, match="Not Found") as error:
        GitHub("octo/training", Gh()).update(404, title="t")
    assert error.value.status == 404


def test_without_token_and_login_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_gh(tmp_path, monkeypatch, auth=1)
    assert open_github("git@github.com:octo/training.git", {"PATH": str(tmp_path)}) is None
    assert open_github("git@github.com:octo/training.git", {"PATH": "/nowhere"}) is None


def test_a_remote_that_is_not_on_github_is_left_alone() -> None:
    assert open_github("/srv/git/training.git", {"GITHUB_TOKEN": "t"}) is None


def test_an_api_that_can_not_be_reached_is_told() -> None:
    with pytest.raises(GitHubError, match="can't be reached"):
        GitHub("octo/training", Rest("http://127.0.0.1:9", "t")).pull_requests("b")
