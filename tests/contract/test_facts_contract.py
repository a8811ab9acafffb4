"""What goes from the nodes to the controller: the trainer's files, their JSON Schemas, and the controller's parsers."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

import controller.domain
import trainer.launch
import trainer.node
from controller.domain import Fact, MembershipChange, TrainingState
from controller.domain.reasons.ending import LauncherFailed
from controller.observe import facts, progress
from controller.observe.facts import FactError, parse_fact
from controller.observe.progress import TrainingEnd, read_end
from controller.observe.reports import read_reports
from tests.unit.controller.harness import new_world
from tests.unit.controller.observe.test_facts import GOOD
from trainer import cli
from trainer.launch import node_reports
from trainer.launch.done import FILE_NAME, End, write_end
from trainer.launch.node_reports import ReportsWriter, report_of
from trainer.node import fact as written
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance
from trainer.worker import attach

FACT_SCHEMA = json.loads(Path(trainer.node.__path__[0], "fact.schema.json").read_text())
DONE_SCHEMA = json.loads(Path(trainer.launch.__path__[0], "done.schema.json").read_text())
NOW = 1_800_000_000.0
CHANGE = written.MembershipChange(written.timestamp(NOW - 60.0), 6, 11, 1.5, 2)
FIGURES = written.RankFigures(
    rank=3,
    world_size=11,
    step=1480,
    iteration_time_s=0.412,
    compute_time_s=0.301,
    samples=64.0,
    tokens=2710.0,
    window=50,
    total_steps=3000,
    total_tokens=4_000_000,
    loss=-0.25,
    share=0.25,
    gradient_bytes=44_000_000,
    last_change=CHANGE,
)


def fact_in(directory: Path, state: written.State, figures: written.RankFigures = FIGURES) -> dict[str, Any]:
    """Returns the fact that the trainer writes, which its schema allows."""
    writer = FactWriter(directory, Instance("i-1", "c5.xlarge"), emulated_speed=0.25, clock=lambda: NOW)
    writer.figures = figures
    writer.announce(state, "because")
    fact: dict[str, Any] = json.loads((directory / written.FILE_NAME).read_text())
    jsonschema.validate(fact, FACT_SCHEMA)
    return fact


def parsed(fact: dict[str, Any]) -> Fact:
    return parse_fact(fact, now=NOW + 1.0, max_age_s=30.0)


def test_the_controller_reads_every_field_that_the_trainer_writes(tmp_path: Path) -> None:
    fact = parsed(fact_in(tmp_path, written.State.TRAINING))
    figures = {name: value for name, value in asdict(FIGURES).items() if name != "last_change"}
    assert {name: getattr(fact, name) for name in figures} == figures
    assert (fact.instance_id, fact.flavor, fact.state) == ("i-1", "c5.xlarge", TrainingState.TRAINING)
    assert (fact.reason, fact.emulated_speed, fact.updated_at) == ("because", 0.25, NOW)
    assert fact.last_change == MembershipChange(NOW - 60.0, 6, 11, 1.5, 2)
    assert fact.peak_memory_bytes and fact.peak_memory_bytes > 0


def test_trainer_schema_and_controller_name_the_same_fields(tmp_path: Path) -> None:
    in_file = set(fact_in(tmp_path, written.State.TRAINING))
    assert in_file == set(FACT_SCHEMA["properties"]) == {field.name for field in fields(Fact)} | {"schema"}


def test_the_controller_has_the_bounds_of_the_schemas(tmp_path: Path) -> None:
    whole = fact_in(tmp_path, written.State.TRAINING)
    bounds = {
        name: (field.get("minimum"), field.get("maximum"))
        for name, field in FACT_SCHEMA["properties"].items()
        if "integer" in field.get("type", ())
    }
    assert len(bounds) == 8
    for name, (least, most) in bounds.items():
        assert getattr(parsed({**whole, name: most}), name) == most
        assert getattr(parsed({**whole, name: least}), name) == least
        for value in (least - 1, most + 1):
            with pytest.raises(FactError, match=name):
                parsed({**whole, name: value})
    assert FACT_SCHEMA["properties"]["reason"]["maxLength"] == facts.LONGEST_REASON
    assert DONE_SCHEMA["properties"]["reason"]["maxLength"] == progress.LONGEST_REASON


@pytest.mark.parametrize("state", list(written.State))
def test_the_controller_knows_every_state(tmp_path: Path, state: written.State) -> None:
    assert parsed(fact_in(tmp_path, state)).state.value == state.value
    assert {state.value for state in written.State} == set(FACT_SCHEMA["properties"]["state"]["enum"])


def test_a_rank_that_has_not_entered_a_world_yet_is_read_with_nothing_made_up(tmp_path: Path) -> None:
    fact = parsed(fact_in(tmp_path, written.State.STARTING, written.RankFigures()))
    unknown = (fact.rank, fact.world_size, fact.iteration_time_s, fact.compute_time_s, fact.loss, fact.last_change)
    assert set(unknown) == {None} and (fact.step, fact.window) == (0, 0)


def test_the_examples_of_the_controllers_tests_are_facts_of_the_schema() -> None:
    world = new_world(desired={"c5.large": 2})
    world.scale()
    first, second = world.nodes
    first.is_configured = second.is_configured = True
    world.set_hosts([first.address, second.address])
    world.is_started = True
    world.advance(30.0)
    before = world.fact(first)
    world.set_hosts([first.address])
    world.advance(30.0)
    after = world.fact(first)
    assert before is not None and after is not None and after["last_change"] is not None
    for fact in (GOOD, before, after):
        jsonschema.validate(fact, FACT_SCHEMA)


@pytest.mark.parametrize(
    ("end", "read"),
    [
        (End("finished"), TrainingEnd(finished=True)),
        (End("failed", "the loss is nan"), TrainingEnd(finished=False, reason=LauncherFailed("the loss is nan"))),
        (End("stopped", "a rank was told to stop"), None),
    ],
)
def test_how_the_training_ended_is_read_as_the_launcher_writes_it(
    tmp_path: Path, end: End, read: TrainingEnd | None
) -> None:
    write_end(tmp_path, end)
    done = json.loads((tmp_path / FILE_NAME).read_text())
    jsonschema.validate(done, DONE_SCHEMA)
    assert read_end({"training": done}) == read


def test_what_nodes_report_to_the_launcher_is_read_as_their_own_facts(tmp_path: Path) -> None:
    fact = fact_in(tmp_path, written.State.TRAINING)
    report = report_of({"fact": json.dumps(fact), "clock": NOW}, NOW)
    ReportsWriter(tmp_path, lambda: NOW).update([SimpleNamespace(address="10.0.0.1", report=report)])
    worker = controller.domain.Instance("i-1", "c5.xlarge", "worker", "running", "10.0.0.1")
    content = (tmp_path / node_reports.FILE_NAME).read_bytes()
    (read,) = read_reports(content, [worker], head_clock=NOW + 1.0, head_ahead_s=0.0).values()
    assert parsed(dict(read.fact)) == parsed(fact)
    assert node_reports.LONGEST_FACT == attach.LONGEST_FACT_BYTES
    assert written.FILE_NAME == cli.FACT_FILE
