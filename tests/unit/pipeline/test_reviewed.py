"""What acknowledges a danger in the pipeline: a maintainer's label after the last push, and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.github import REPOSITORY, TOKEN, serving

SCRIPT = Path(__file__).resolve().parents[3] / ".github" / "pipeline" / "reviewed.py"
SHA, MERGED = "a" * 40, "b" * 40


def at(minute: int) -> str:
    return f"2026-11-21T06:{minute:02}:00Z"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("reviewed", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reviewed"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["reviewed"]


@dataclass
class Pipeline:
    """GitHub as far as the script asks for it: one pull request, whose last push came at minute 10."""

    url: str = ""
    roles: dict[str, str] = field(default_factory=lambda: {"ann": "maintain", "ada": "admin", "bob": "write"})
    events: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    pull: dict[str, Any] = field(
        default_factory=lambda: {
            "number": 7,
            "user": {"login": "eve"},
            "merged_at": at(50),
            "merge_commit_sha": MERGED,
            "base": {"ref": "main"},
            "head": {"sha": SHA, "ref": "topic"},
        }
    )
    fail_with: int | None = None

    def label(self, danger: str, by: str, minute: int, event: str = "labeled") -> None:
        name = {"name": f"acknowledge:{danger}"}
        made = {"event": event, "label": name, "actor": {"login": by}, "created_at": at(minute)}
        self.events.append({"id": len(self.events), **made})

    def run(self, number: int, minute: int, **other: Any) -> None:
        made = {"id": number, "created_at": at(minute), "conclusion": "success", "head_branch": "topic"}
        self.runs.insert(0, {**made, "head_repository": {"full_name": REPOSITORY}, **other})
        self.artifacts[number] = [{"name": "reviewed-aws", "expired": False}]

    def answer(self, method: str, path: str, query: dict[str, str], payload: dict[str, Any]) -> tuple[int, Any]:
        """Status and document, as GitHub would answer."""
        assert path.startswith(f"/repos/{REPOSITORY}/") and method == "GET"
        size = int(query.get("per_page", 100))
        begin = (int(query.get("page", 1)) - 1) * size
        found = self._found(path.removeprefix(f"/repos/{REPOSITORY}/").split("/"), query, slice(begin, begin + size))
        return self.fail_with or (404 if found is None else 200), found

    def _found(self, parts: list[str], query: dict[str, str], page: slice) -> Any:
        document: Any = None
        match parts:
            case ["pulls", "7"]:
                document = self.pull
            case ["commits", sha, "pulls"]:
                document = [self.pull] if sha in (MERGED, SHA) else []
            case ["issues", "7", "events"]:
                document = self.events[page]
            case ["actions", "workflows", "plan.yml", "runs"]:
                assert query["head_sha"] == SHA and query["event"] == "pull_request"
                document = {"workflow_runs": self.runs[page]}
            case ["actions", "runs", number, "artifacts"]:
                assert query["name"] == "reviewed-aws"
                document = {"artifacts": self.artifacts[int(number)][page]}
            case ["collaborators", login, "permission"] if login in self.roles:
                document = {"permission": "write", "role_name": self.roles[login]}
        return document


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Pipeline]:
    made = Pipeline()
    made.run(100, minute=10)
    with serving(made) as fake:  # type: ignore[arg-type]
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)
        monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
        yield made


@pytest.fixture
def asked(script: ModuleType, github: Pipeline, tmp_path: Path) -> Any:
    """Runs the script and returns what it hands to the workflow."""

    def ask(*arguments: str) -> dict[str, str]:
        (tmp_path / "output").write_text("")
        script.main(arguments)
        return dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())

    return ask


@pytest.mark.parametrize("who", ["ann", "ada"])
def test_a_label_of_a_maintainer_after_the_last_push_acknowledges(asked: Any, github: Pipeline, who: str) -> None:
    github.label("open-network", who, 12)
    github.label("change-iam", who, 11)
    assert asked("pull-request", "7") == {"acknowledged": "change-iam open-network"}


@pytest.mark.parametrize(
    ("who", "minute", "why"),
    [
        ("bob", 11, "only people with the role maintain or admin"),
        ("stranger", 11, "only people with the role maintain or admin"),
        ("", 11, "only people with the role maintain or admin"),
        ("eve", 11, "the author of the pull request has set it"),
        ("ann", 9, "it was set before the last push"),
    ],
)
def test_any_other_label_does_not_count_and_the_run_says_why(
    asked: Any, github: Pipeline, who: str, minute: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    github.roles["eve"] = "admin"
    github.label("change-iam", who, minute)
    assert asked("pull-request", "7") == {"acknowledged": ""}
    assert why in capsys.readouterr().out


def test_a_label_that_was_removed_or_set_again_by_somebody_else_counts_as_it_is_now(
    asked: Any, github: Pipeline
) -> None:
    github.label("change-iam", "ann", 11)
    github.label("open-network", "ann", 11)
    github.label("change-iam", "bob", 12, "unlabeled")
    github.label("open-network", "bob", 13, "unlabeled")
    github.label("open-network", "bob", 14)
    assert asked("pull-request", "7") == {"acknowledged": ""}


def test_a_forced_push_that_brings_an_old_commit_back_ends_what_was_acknowledged(asked: Any, github: Pipeline) -> None:
    """The commit has a run from before; the label was set for another commit in between."""
    github.label("change-iam", "ann", 12)
    assert asked("pull-request", "7") == {"acknowledged": "change-iam"}
    github.events.append({"id": 99, "event": "head_ref_force_pushed", "created_at": at(20), "actor": {"login": "eve"}})
    assert asked("pull-request", "7") == {"acknowledged": ""}


def test_a_run_on_another_branch_does_not_make_a_push_older(asked: Any, github: Pipeline) -> None:
    github.run(99, minute=1, head_branch="elsewhere")
    github.label("change-iam", "ann", 5)
    assert asked("pull-request", "7") == {"acknowledged": ""}


def test_without_any_run_for_the_last_commit_nothing_is_acknowledged(asked: Any, github: Pipeline) -> None:
    github.runs.clear()
    github.label("change-iam", "ann", 59)
    assert asked("pull-request", "7") == {"acknowledged": ""}


@pytest.mark.parametrize("name", ["change-iam\nrun=666", "$(id)", "--reviewed", "Change-IAM", "", "a" * 42])
def test_a_label_that_is_no_word_never_reaches_a_shell(asked: Any, github: Pipeline, name: str) -> None:
    github.label(name, "ann", 11)
    assert asked("pull-request", "7") == {"acknowledged": ""}


def test_labels_are_found_on_every_page(asked: Any, github: Pipeline) -> None:
    for _ in range(250):
        github.label("open-network", "ann", 11)
    github.label("open-network", "ann", 12, "unlabeled")
    assert asked("pull-request", "7") == {"acknowledged": ""}


def test_after_a_merge_the_run_that_planned_the_last_commit_is_found(asked: Any, github: Pipeline) -> None:
    github.label("change-iam", "ann", 11)
    assert asked("commit", MERGED) == {"go": "true", "run": "100", "acknowledged": "change-iam"}
    github.run(101, minute=20)
    assert asked("commit", MERGED)["run"] == "101"


@pytest.mark.parametrize(
    "other",
    [{"head_repository": {"full_name": "eve/training"}}, {"head_repository": None}, {"conclusion": "failure"}],
)
def test_runs_of_a_fork_and_runs_that_failed_have_planned_nothing(
    asked: Any, github: Pipeline, other: dict[str, Any]
) -> None:
    github.runs.clear()
    github.run(101, minute=20, **other)
    assert asked("commit", MERGED) == {"go": "false"}


def test_an_outline_that_has_expired_is_none(asked: Any, github: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    github.artifacts[100][0]["expired"] = True
    assert asked("commit", MERGED) == {"go": "false"}
    assert "start this workflow by hand" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change", [{"merged_at": None}, {"base": {"ref": "other"}}, {"merge_commit_sha": "c" * 40}, {"number": 7}]
)
def test_a_commit_that_no_pull_request_has_brought_to_main_is_not_applied(
    asked: Any, github: Pipeline, change: dict[str, Any]
) -> None:
    github.pull.update(change)
    assert asked("commit", MERGED if "number" not in change else "c" * 40) == {"go": "false"}


def test_by_hand_only_maintainers_acknowledge(asked: Any, github: Pipeline) -> None:
    assert asked("by-hand", "bob", "") == {"go": "true", "run": "", "acknowledged": ""}
    assert asked("by-hand", "ann", " change-iam  open-network ")["acknowledged"] == "change-iam open-network"
    with pytest.raises(SystemExit, match="bob may not acknowledge"):
        asked("by-hand", "bob", "change-iam")
    with pytest.raises(SystemExit, match="Not a danger"):
        asked("by-hand", "ann", "change-iam --reviewed")


def test_a_github_that_does_not_answer_ends_the_job(asked: Any, github: Pipeline, tmp_path: Path) -> None:
    github.fail_with = 502
    with pytest.raises(SystemExit, match="can't be asked"):
        asked("commit", MERGED)
    assert (tmp_path / "output").read_text() == "", "nothing is handed on"


@pytest.mark.parametrize("wrong", [[], ["commit"], ["commit", "a", "b"], ["label", "7"], ["by-hand", "ann"]])
def test_wrong_usage_is_told(asked: Any, wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"reviewed\.py pull-request NUMBER"):
        asked(*wrong)
