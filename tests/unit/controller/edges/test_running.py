"""Programs that take too long, and what they have started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controller.edges import git, github, limited, running
from controller.edges.git import Git, GitError
from controller.edges.github import Gh, GitHubError
from tests.support.local_cloud import is_alive, wait_until

SLEEPS_WITH_A_CHILD = "sleep 600 & echo $! > {file}; wait"


def test_a_program_gets_its_input_and_gives_its_output() -> None:
    done = limited.run_within(60, ["sh", "-c", "cat; echo $A >&2; exit 3"], stdin=b"in", environment={"A": "b"})
    assert (done.returncode, done.stdout, done.stderr) == (3, b"in", b"b\n")


def test_a_program_that_takes_too_long_is_ended_with_its_children_though_they_hold_its_output(tmp_path: Path) -> None:
    file, began = tmp_path / "child", time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        limited.run_within(0.5, ["sh", "-c", SLEEPS_WITH_A_CHILD.format(file=file)])
    assert time.monotonic() - began < 60
    wait_until(lambda: not is_alive(int(file.read_text())), "the end of the child")


def test_a_program_has_no_terminal_that_it_could_ask_a_person_at() -> None:
    assert limited.run_within(60, ["sh", "-c", "exec < /dev/tty"]).returncode != 0


def test_marked_processes_are_ended_and_no_others(tmp_path: Path) -> None:
    sleep = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    marked, other = (
        subprocess.Popen(sleep, env={**os.environ, "LOOKS_TEST": value}, stdout=subprocess.PIPE)
        for value in (f"{tmp_path}", f"{tmp_path}-other")
    )
    try:
        for each in (marked, other):
            assert each.stdout is not None and each.stdout.readline()
        running.end_marked("LOOKS_TEST", str(tmp_path))
        assert marked.wait(60) == -9 and other.poll() is None
    finally:
        for each in (marked, other):
            each.kill()
            each.communicate()


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git and a gh in the PATH that start a child and never end."""
    for name in ("git", "gh"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{SLEEPS_WITH_A_CHILD.format(file=tmp_path / 'child')}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(git, "TIMEOUT_S", 0.5)
    monkeypatch.setattr(github, "TIMEOUT_S", 0.5)
    return tmp_path / "child"


def test_a_git_that_hangs_is_an_error_and_leaves_nothing_behind(hanging: Path) -> None:
    with pytest.raises(GitError, match="did not end within"):
        Git(hanging.parent)
    wait_until(lambda: not is_alive(int(hanging.read_text())), "the end of what git started")


def test_a_gh_that_hangs_is_an_error_and_leaves_nothing_behind(hanging: Path) -> None:
    with pytest.raises(GitHubError, match="gh could not be run"):
        Gh().send("GET", "user")
    wait_until(lambda: not is_alive(int(hanging.read_text())), "the end of what gh started")
