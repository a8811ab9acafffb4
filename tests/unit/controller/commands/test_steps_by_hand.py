"""`centavo configure`, `train` and `destroy`: the steps that a person can take without the main job."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.commands.context import Context
from controller.domain import Fleet
from controller.domain.reasons.ending import EnvironmentDestroyed
from controller.record.journal import Journal, Stage
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.harness import Controller
from tests.unit.controller.world import World


@pytest.fixture
def one(root: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> Controller:
    """An environment that is up, with a run whose nodes run and were not prepared yet."""
    controller = Controller(world, root)
    controller.bring_up()
    world.advance(60)
    monkeypatch.setattr(Context, "terraform", lambda *_: controller.terraform)
    monkeypatch.setattr(Context, "cluster", lambda *_: controller.cluster)
    monkeypatch.setattr("controller.commands.context.unfinished_run", lambda *_: controller.journal)
    monkeypatch.setattr("controller.commands.destroy.latest_run", lambda *_: controller.journal)
    return controller


def test_configure_prepares_the_nodes_and_starts_nothing(one: Controller, root: Path, capsys: Captured) -> None:
    assert centavo(root, "configure") == 0
    assert all(node.is_configured for node in one.world.nodes) and not one.world.is_started
    assert one.journal.stage() is Stage.STARTING
    assert "The nodes are prepared" in capsys.readouterr().out


def test_train_prepares_the_nodes_and_starts_the_training_on_all_of_them(one: Controller, root: Path) -> None:
    assert centavo(root, "train") == 0
    assert one.world.is_started and len(one.world.hosts) == len(one.world.nodes) == 3
    assert one.journal.members() == {node.instance_id for node in one.world.nodes}
    assert one.journal.stage() is Stage.TRAINING


def test_destroy_lifts_the_protection_empties_the_capacity_and_ends_the_run(
    one: Controller, root: Path, capsys: Captured
) -> None:
    one.world.calls.clear()
    one.terraform.extra_changes = [{"address": "aws_vpc.this", "type": "aws_vpc", "change": {"actions": ["delete"]}}]
    assert centavo(root, "destroy") == 0
    calls = one.world.calls
    assert calls.index("protection") < calls.index("plan") < calls.index("apply")
    assert one.cluster.capacity.read() == Fleet({})
    journal = Journal(one.journal.directory)
    assert (journal.stage(), journal.status()) == (Stage.ENDED, "interrupted")
    assert journal.status_reason() == EnvironmentDestroyed()
    assert "test is down" in capsys.readouterr().out
