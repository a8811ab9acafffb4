"""Calling `centavo` in a checkout with runs that never were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.cli import main
from controller.record.journal import Journal

Captured = pytest.CaptureFixture[str]


def centavo(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), "--env", "test", *arguments])


def added(root: Path, make: Callable[[Path], Journal], name: str) -> Journal:
    """A run of that name, which is the latest from now on."""
    journal = make(root / "elsewhere" / name)
    runs = root / "runs"
    runs.mkdir(exist_ok=True)
    journal.close()
    journal.directory.rename(runs / name)
    (runs / "latest").unlink(missing_ok=True)
    (runs / "latest").symlink_to(name)
    return Journal(runs / name)
