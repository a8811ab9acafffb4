"""A checkout with a bare repository as its remote, and a stand-in for GitHub in front of that."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github import FakeGitHub, serving

CAPACITY = "capacity.auto.tfvars.json"


def run(folder: Path, *arguments: str) -> str:
    """A git command, as a person."""
    identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose capacity file is ignored, as that of `local` is, with a bare repository as its remote."""
    remote, folder = tmp_path / "remote.git", tmp_path / "checkout"
    run(tmp_path, "init", "-q", "--bare", "-b", "main", str(remote))
    run(tmp_path, "clone", "-q", str(remote), str(folder))
    (folder / "README.md").write_text("training\n")
    (folder / ".gitignore").write_text(CAPACITY + "\n")
    run(folder, "checkout", "-q", "-b", "main")
    run(folder, "add", "README.md", ".gitignore")
    run(folder, "commit", "-q", "-m", "Begin")
    run(folder, "push", "-q", "-u", "origin", "main")
    return folder


@pytest.fixture
def github(tmp_path: Path, checkout: Path) -> Iterator[FakeGitHub]:
    """GitHub, as far as Centavo asks for it."""
    with serving(FakeGitHub(tmp_path / "remote.git")) as fake:
        yield fake
