"""Fixtures for tests of the loop: a small world, and the controller in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from controller.commands.shared import owned
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.world import World


@pytest.fixture(autouse=True)
def no_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command finds a bucket, as before the first apply: it owns its checkout, and no lease."""
    monkeypatch.setattr(owned, "bucket_of", lambda environment: None)
    monkeypatch.setattr(owned, "BucketObjects", lambda region, name: None)


@pytest.fixture
def world() -> World:
    """Three flavors, of which c5.large costs the least per token."""
    return new_world()


@pytest.fixture
def controller(world: World, tmp_path: Path) -> Callable[..., Controller]:
    """Starts a controller process in the world."""
    return partial(Controller, world, tmp_path)
