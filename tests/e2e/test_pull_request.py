"""A fleet that people approve: from `review` and `propose` through a merge to a finished move, on localcloud."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from sandbox import Sandbox, make_sandbox, wait_until

from tests.support.github import FakeGitHub, serving

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1500)]

INITIAL = {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}
CAPACITY = "terraform/environments/local/capacity.auto.tfvars.json"


def put_under_git(sandbox: Sandbox, remote: Path) -> None:
    """The sandbox becomes a checkout whose remote is a bare repository."""

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=sandbox.root, check=True, capture_output=True)

    git("init", "-q", "--bare", "-b", "main", str(remote))
    git("init", "-q", "-b", "main")
    git("add", ".gitignore", "terraform")
    git("commit", "-q", "-m", "Begin")
    git("remote", "add", "origin", str(remote))
    git("push", "-q", "origin", "main")


def test_a_reviewed_plan_is_applied_and_a_proposed_fleet_is_moved_to_once_it_is_merged(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox(
        tmp_path / "centavo",
        stack,
        initial=INITIAL,
        steps=600,
        speeds={"t2.medium": 0.08, "c5.large": 0.30, "c5.xlarge": 0.30},
    )
    put_under_git(sandbox, tmp_path / "remote.git")
    github = stack.enter_context(serving(FakeGitHub(tmp_path / "remote.git")))
    for name, value in github.environ.items():
        monkeypatch.setenv(name, value)

    refused = sandbox.centavo("review")
    assert refused.returncode == 3 and "change-iam" in refused.stdout
    assert sandbox.centavo("apply", "--plan", "latest").returncode == 3
    assert sandbox.running_workers() == {}
    markdown, outline = tmp_path / "plan.md", tmp_path / "outline.json"
    meant = ("--acknowledge", "change-iam")
    reviewed = sandbox.centavo("review", *meant, "--markdown", str(markdown), "--outline", str(outline))
    assert reviewed.returncode == 2
    assert "not measured yet" in markdown.read_text() and "⛔" not in markdown.read_text()
    assert sandbox.centavo("apply", "--reviewed", str(outline)).returncode == 3, "the outline acknowledges nothing"
    assert sandbox.centavo("apply", "--reviewed", str(outline), *meant).returncode == 0
    again = sandbox.centavo("apply", "--reviewed", str(outline), *meant)
    assert again.returncode == 20 and "reviewed as create, now unchanged" in again.stdout
    sealed = sandbox.centavo("apply", "--plan", "latest", *meant)
    assert sealed.returncode == 1 and "made for another state" in sealed.stdout
    assert sandbox.centavo("review").returncode == 0

    optimizing = sandbox.start("optimize", "--via", "pull-request")
    try:
        wait_until(lambda: bool(github.open) or optimizing.poll() is not None, 600, "a proposal")
        assert sandbox.running_workers() == INITIAL
        (pull,) = github.open
        assert "### What was measured" in pull["body"] and "xychart-beta" in pull["body"]
        proposed = json.loads(github.git("show", f"{pull['head']['ref']}:{CAPACITY}"))["capacity"]
        github.merge(1)
        output, _ = optimizing.communicate(timeout=900)
    finally:
        if optimizing.poll() is None:
            os.killpg(optimizing.pid, signal.SIGKILL)
            output, _ = optimizing.communicate(timeout=60)
        print(output)

    assert optimizing.returncode == 0
    report = sandbox.report
    assert report["status"] == "finished" and report["training"]["steps_lost"] == 0
    assert report["moves"][0]["outcome"] == "done"
    assert report["moves"][0]["to"] == {flavor: count for flavor, count in proposed.items() if count}
    assert all(pull["state"] == "closed" for pull in github.pulls)
    assert sandbox.centavo("destroy").returncode == 0
