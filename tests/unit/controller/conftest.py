"""Fixtures for tests of the loop: a small world, and the controller in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controller.commands.shared import owned
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.world import World


@pytest.fixture(autouse=True)
def no_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command finds a bucket, as before the first apply: it owns its checkout, and no lease."""
    monkeypatch.setattr(owned, "bucket_of", lambda environment: None)
    monkeypatch.setattr(owned, "BucketObjects", lambda region, name: None)


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No journal waits until the disk has what it wrote: that protects from a power failure, and no test has one."""
    real = sqlite3.connect

    def connect(*given: Any, **options: Any) -> sqlite3.Connection:
        database = real(*given, **options)
        with suppress(sqlite3.Error):  # of a damaged file the first statement tells
            database.execute("PRAGMA synchronous=OFF")
        return database

    monkeypatch.setattr(sqlite3, "connect", connect)


@pytest.fixture
def world() -> World:
    """Three flavors, of which c5.large costs the least per token."""
    return new_world()


@pytest.fixture
def controller(world: World, tmp_path: Path) -> Callable[..., Controller]:
    """Starts a controller process in the world."""
    return partial(Controller, world, tmp_path)
