"""What the tests of commands share: a checkout to run them in, and an environment that is up or down."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from controller.commands.context import Context
from controller.domain import Observation
from tests.unit.controller.harness import SETTINGS, Controller
from tests.unit.controller.record.synthetic import PRICES
from tests.unit.controller.review.conftest import checkout, github
from tests.unit.controller.world import World

__all__ = ["checkout", "down", "github", "one", "root", "up"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one environment, and no run."""
    environment = tmp_path / "terraform" / "environments" / "test"
    environment.mkdir(parents=True)
    (environment / "centavo.yml").write_text(yaml.safe_dump(SETTINGS))
    (environment / "prices.yml").write_text(yaml.safe_dump(PRICES))
    (tmp_path / "training.yml").write_text("model: { preset: tiny }\n")
    return tmp_path


@pytest.fixture
def one(root: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> Controller:
    """An environment that is up, with a run whose nodes run and were not prepared yet."""
    controller = Controller(world, root)
    controller.bring_up()
    world.advance(60)
    monkeypatch.setattr(Context, "terraform", lambda *_: controller.terraform)
    monkeypatch.setattr(Context, "cluster", lambda *_: controller.cluster)
    monkeypatch.setattr("controller.commands.shared.unfinished.unfinished_run", lambda *_: controller.journal)
    monkeypatch.setattr("controller.commands.destroy.latest_run", lambda *_: controller.journal)
    return controller


class Environment:
    """Terraform of an environment that is up, or is not."""

    def __init__(self, is_up: bool) -> None:
        self._is_up = is_up

    def outputs(self) -> object | None:
        return object() if self._is_up else None


class Cluster:
    """A cluster that looks as it was seen last. It is its own observer."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self.observer = self

    def look(self) -> Observation:
        return self._observation


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "terraform", lambda *_: Environment(is_up=False))


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "terraform", lambda *_: Environment(is_up=True))
    monkeypatch.setattr(Context, "cluster", lambda _, journal: Cluster(journal.observations()[-1]))
