"""A plan that would buy nodes which can't hold the training: it is refused before anything costs money."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.commands.apply import apply_sealed
from controller.commands.review import REFUSED, review
from controller.commands.shared.node_memory import refuse_too_small
from controller.domain.errors import GuardError, NodesTooSmallError
from controller.domain.memory import MIB, MemoryNeed
from controller.edges import trainer
from controller.edges.terraform_plan import parse_plan
from tests.unit.controller.commands import review_desk
from tests.unit.controller.commands.review_desk import Desk, desk, options

__all__ = ["desk"]

ROOT = Path(__file__).resolve().parents[4]
GIB_IN_MIB = 1024


def asked_about(mebibytes: dict[str, Any]) -> dict[str, Any]:
    """The part of a plan's JSON in which EC2 states the memory of instance types, inside of modules."""
    resources = [
        {"mode": "data", "type": "aws_ec2_instance_type", "values": {"instance_type": name, "memory_size": size}}
        for name, size in mebibytes.items()
    ]
    inner = {"resources": resources, "address": "module.centavo.module.flavor"}
    return {"values": {"root_module": {"child_modules": [{"child_modules": [inner]}]}}}


def with_memory(desk: Desk, monkeypatch: pytest.MonkeyPatch, mebibytes: dict[str, Any]) -> dict[str, Any]:
    """Lets every plan know the memory of these flavors. Returns the plan that moves nodes."""
    show = desk.fake.show

    def shown(file: Path) -> dict[str, Any]:
        return {**show(file), "prior_state": asked_about(mebibytes)}

    monkeypatch.setattr(desk.fake, "show", shown)
    document = json.loads((review_desk.GOLDEN / "move.json").read_text())
    return {**document, "prior_state": asked_about(mebibytes)}


@pytest.fixture
def needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that is estimated to need 3 GiB."""
    need = MemoryNeed(3 * GIB_IN_MIB * MIB, is_measured=False)
    monkeypatch.setattr("controller.commands.shared.node_memory.estimated_need", lambda config, tell: need)


def grown(document: dict[str, Any]) -> str:
    plan = parse_plan(document)
    return next(iter(plan.fleet_after.beyond(plan.fleet_before).present))


@pytest.mark.usefixtures("needs")
def test_a_plan_that_buys_nodes_which_are_too_small_is_refused_until_a_person_means_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flavor = grown(with_memory(desk, monkeypatch, {}))
    with_memory(desk, monkeypatch, {flavor: 2 * GIB_IN_MIB})
    assert review(desk, options("review")) == REFUSED
    told = " ".join(capsys.readouterr().out.split())
    assert f"Never moved to: {flavor}, it has too little memory: 2,048 MiB" in told and "buy-too-small" in told
    markdown = next(desk.environment.state_directory.rglob("*.md")).read_text()
    assert "Too small for the training" in markdown
    with pytest.raises(GuardError, match="buy-too-small"):
        apply_sealed(desk, options("apply", "--plan", "latest"))
    assert desk.fake.applied == []
    meant = ("--acknowledge", "buy-too-small")
    review(desk, options("review", *meant))
    assert apply_sealed(desk, options("apply", "--plan", "latest", *meant)) == 0


@pytest.mark.usefixtures("needs")
def test_nodes_that_are_large_enough_are_bought(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    document = with_memory(desk, monkeypatch, {})
    enough = with_memory(desk, monkeypatch, dict.fromkeys(parse_plan(document).fleet_after, 3584))
    refuse_too_small(desk.environment, parse_plan(enough), desk.note)
    review(desk, options("review"))
    assert apply_sealed(desk, options("apply", "--plan", "latest")) == 0


@pytest.mark.usefixtures("needs")
def test_a_run_on_nodes_that_are_too_small_is_refused_and_told_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    flavor = grown(with_memory(desk, monkeypatch, {}))
    document = with_memory(desk, monkeypatch, {flavor: 3583})
    with pytest.raises(NodesTooSmallError) as error:
        refuse_too_small(desk.environment, parse_plan(document), desk.note)
    assert flavor in error.value.what and "fleet.initial" in error.value.next_step
    assert error.value.reason.code == "flavors-too-small"


@pytest.mark.parametrize("size", [None, "4096", {}])
def test_a_plan_that_does_not_know_the_memory_is_not_judged_by_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: Any
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("controller.commands.shared.node_memory.estimated_need", lambda *given: asked.append(given))
    flavor = grown(with_memory(desk, monkeypatch, {}))
    for document in (
        with_memory(desk, monkeypatch, {flavor: size}),
        {**with_memory(desk, monkeypatch, {}), "prior_state": None},
    ):
        refuse_too_small(desk.environment, parse_plan(document), desk.note)
    assert asked == []


def test_the_need_is_what_the_trainer_estimates_by_the_settings_alone() -> None:
    notes: list[str] = []
    config = ROOT / "terraform" / "environments" / "local" / "training.yml"
    need = trainer.estimated_need(config, notes.append)
    assert need is not None and not need.is_measured and notes == []
    assert 450 * MIB < need.needed_bytes < GIB_IN_MIB * MIB


@pytest.mark.parametrize("text", ["", "{ model: { preset: none } }", "stop: { steps: 1 }\nmodel: { heads: 0 }"])
def test_a_trainer_that_can_not_say_stops_nobody_and_people_are_told(tmp_path: Path, text: str) -> None:
    notes: list[str] = []
    (tmp_path / "training.yml").write_text(text)
    assert trainer.estimated_need(tmp_path / "training.yml", notes.append) is None
    (note,) = notes
    assert note.startswith("the memory of the nodes is not checked before they are bought: error:")


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"needed_bytes": -1}', '{"needed_bytes": 1e99}', "\\xff"])
def test_an_answer_that_is_no_answer_is_no_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{said}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(trainer.sys, "executable", str(program))
    notes: list[str] = []
    assert trainer.estimated_need(tmp_path / "training.yml", notes.append) is None
    assert len(notes) == 1
