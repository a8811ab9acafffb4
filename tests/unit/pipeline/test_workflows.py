"""What holds of the workflows, whoever edits them: who gets which credentials, and what is believed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
JOBS = [
    pytest.param(file.name, name, job, id=f"{file.stem}-{name}")
    for file in WORKFLOWS
    for name, job in yaml.safe_load(file.read_text())["jobs"].items()
]


def steps(job: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job["steps"]
    return found


def job(file: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / ".github" / "workflows" / file).read_text())["jobs"][name]
    return found


def run_of(file: str, name: str, wanted: str) -> str:
    (found,) = [step["run"] for step in steps(job(file, name)) if wanted in step.get("run", "")]
    return str(found)


def roles(one: dict[str, Any]) -> set[str]:
    return {str(step.get("with", {}).get("role-to-assume", "")) for step in steps(one)} - {""}


@pytest.mark.parametrize(("file", "name", "one"), JOBS)
def test_every_action_is_pinned_by_its_commit(file: str, name: str, one: dict[str, Any]) -> None:
    used = [step["uses"] for step in steps(one) if "uses" in step]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use) for use in used), used


@pytest.mark.parametrize(("file", "name", "one"), JOBS)
def test_whatever_pip_installs_is_checked_by_its_hash(file: str, name: str, one: dict[str, Any]) -> None:
    for step in steps(one):
        command = re.sub(r"(?m)^\s*#.*$", "", step.get("run", ""))
        if re.search(r"\b(pip|uv|pipx|npm|gem|curl|wget)\b.*", command):
            assert re.fullmatch(r"python -m pip install .*--require-hashes -r requirements/hashed/\w+\.txt", command)
        if re.search(r"\bmake\b|\.ci/run", command):
            assert "HASHES=require" in command or one.get("env", {}).get("HASHES") == "require", command


@pytest.mark.parametrize(("file", "name", "one"), JOBS)
def test_the_role_that_may_change_things_is_given_behind_the_environment_and_on_main_only(
    file: str, name: str, one: dict[str, Any]
) -> None:
    if "${{ vars.AWS_APPLY_ROLE }}" in roles(one):
        assert (file, one["environment"]) == ("apply.yml", "aws")
        assert "reviewed" in one["needs"], "that job runs on main only"
    else:
        assert "environment" not in one
    if roles(one):
        assert one["permissions"]["id-token"] == "write"
    else:
        assert "id-token" not in one.get("permissions", {})


def test_all_of_apply_runs_from_main_alone() -> None:
    jobs = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "apply.yml").read_text())["jobs"]
    assert "github.ref == 'refs/heads/main'" in jobs["reviewed"]["if"]
    assert jobs["plan"]["needs"] == "reviewed" and "needs.reviewed.outputs.go == 'true'" in jobs["plan"]["if"]
    for one in jobs.values():
        for step in steps(one):
            assert "ref" not in step.get("with", {}) and "repository" not in step.get("with", {})


def test_what_is_acknowledged_is_read_by_the_code_of_the_base_branch() -> None:
    (checkout,) = [step for step in steps(job("plan.yml", "acknowledged")) if "uses" in step]
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert "head" not in str(job("plan.yml", "acknowledged")["steps"])
    assert "labels" not in (REPOSITORY / ".github" / "workflows" / "plan.yml").read_text().partition("jobs:")[2]


@pytest.mark.parametrize(("file", "name", "one"), JOBS)
def test_no_plan_file_travels_between_jobs(file: str, name: str, one: dict[str, Any]) -> None:
    """A plan file has secrets in it, and one that was made by a pull request's code must not be applied."""
    paths = {str(step["with"]["path"]) for step in steps(one) if "upload-artifact" in step.get("uses", "")}
    assert paths <= {"plan.md", "outline.json"}
    assert not any("--plan" in step.get("run", "") for step in steps(one))


@pytest.mark.parametrize(("file", "name", "one"), JOBS)
def test_no_text_of_a_pull_request_is_put_into_a_script(file: str, name: str, one: dict[str, Any]) -> None:
    assert not any("${{" in step.get("run", "") for step in steps(one))


def bash(script: str, folder: Path, status: int, **environ: str) -> tuple[int, list[str], str]:
    """Runs a step as GitHub does, with a `centavo` that says what it was given. Returns what came of it."""
    program = folder / ".venv" / "bin" / "centavo"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > given\necho "# plan" > plan.md\nexit {status}\n')
    program.chmod(0o755)
    outputs = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(shell, cwd=folder, env={"PATH": os.environ["PATH"], **outputs, **environ}, check=False)
    output = (folder / "output").read_text() if (folder / "output").exists() else ""
    return done.returncode, (folder / "given").read_text().splitlines(), output


@pytest.mark.parametrize(("status", "ended"), [(0, 0), (2, 0), (3, 3), (20, 20), (1, 1)])
def test_a_plan_on_main_that_is_refused_or_not_what_was_reviewed_ends_the_run(
    tmp_path: Path, status: int, ended: int
) -> None:
    script = run_of("apply.yml", "plan", "bin/centavo")
    code, given, output = bash(script, tmp_path, status, ACKNOWLEDGED="change-iam open-network", RUN="100")
    assert (code, output) == (ended, f"status={status}\n")
    assert given[3:6] == ["--acknowledge=change-iam", "--acknowledge=open-network", "--reviewed"]
    assert given[6] == "reviewed/outline.json"
    assert (tmp_path / "summary").read_text() == "# plan\n"


def test_started_by_hand_it_compares_with_nothing_and_acknowledges_what_it_was_told(tmp_path: Path) -> None:
    script = run_of("apply.yml", "plan", "bin/centavo")
    _, given, _ = bash(script, tmp_path, 2, ACKNOWLEDGED="", RUN="")
    assert given == ["--env", "aws", "review", "--markdown", "plan.md", "--outline", "outline.json"]


@pytest.mark.parametrize("status", [0, 3, 20])
def test_apply_plans_again_and_ends_as_centavo_ends(tmp_path: Path, status: int) -> None:
    script = run_of("apply.yml", "apply", "bin/centavo")
    code, given, _ = bash(script, tmp_path, status, ACKNOWLEDGED="change-iam")
    assert code == status
    assert given == ["--env", "aws", "apply", "--reviewed", "approved/outline.json", "--acknowledge=change-iam"]


@pytest.mark.parametrize(("status", "ended"), [(0, 0), (2, 0), (3, 0), (1, 1), (20, 20)])
def test_people_read_a_plan_that_the_guard_refuses(tmp_path: Path, status: int, ended: int) -> None:
    code, given, output = bash(run_of("plan.yml", "plan", "bin/centavo"), tmp_path, status, ACKNOWLEDGED="")
    assert (code, output) == (ended, f"status={status}\n")
    assert "--outline" in given and not any("acknowledge" in one for one in given)
