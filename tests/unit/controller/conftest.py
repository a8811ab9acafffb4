"""Fixtures for tests of the loop: a small world, and the controller in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.world import World


@pytest.fixture
def world() -> World:
    """Three flavors, of which c5.large costs the least per token."""
    return new_world()


@pytest.fixture
def controller(world: World, tmp_path: Path) -> Callable[..., Controller]:
    """Starts a controller process in the world."""
    return partial(Controller, world, tmp_path)
