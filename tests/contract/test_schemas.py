"""What Centavo writes for programs is what its JSON Schemas say: every field, and no field more."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from controller.domain import Decision, Fleet, Move, MovePhase
from controller.domain.lease import Fired
from controller.domain.reasons import Said
from controller.edges.terraform_plan import parse_plan
from controller.owning import keys
from controller.owning.asked import Asked, ask_to_stop
from controller.owning.lease_document import to_document
from controller.owning.runs_index import RunEntry, RunsSource
from controller.record.journal import Journal
from controller.record.live.run_log import LogFormat, LogReporter
from controller.record.report.report import make_report
from controller.review.plans.outline_file import read_outline, write_outline
from controller.review.plans.plan_outline import outline_of
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.commands.conftest import down, root, up
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.owning.bucket_in_memory import BucketInMemory, claim
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import BEGAN, PRICES, SyntheticRun

__all__ = ["down", "root", "up"]

SCHEMAS = {
    "report": ("controller.record.report", "report.schema.json"),
    "capacity": ("controller.act", "capacity.schema.json"),
    "decision": ("controller.record.journal", "decision.schema.json"),
    "observation": ("controller.record.journal", "observation.schema.json"),
    "log line": ("controller.record.live", "log_line.schema.json"),
    "status": ("controller.commands.looking", "status.schema.json"),
    "lease": ("controller.owning", "lease.schema.json"),
    "runs": ("controller.owning", "runs.schema.json"),
    "logs": ("controller.commands.logs", "logs.schema.json"),
    "asked": ("controller.owning", "asked.schema.json"),
    "plan outline": ("controller.review.plans", "plan_outline.schema.json"),
}
RUNS: list[Callable[[Path], Journal]] = [
    synthetic.moved_run,
    synthetic.moveless_run,
    synthetic.failed_run,
    synthetic.stopped_run,
    synthetic.interrupted_run,
    synthetic.running_run,
]
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "review"
FLEET = Fleet({"c5.large": 3})


def schema(name: str) -> dict[str, Any]:
    package, file = SCHEMAS[name]
    document: dict[str, Any] = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
    return document


def strict(part: Any) -> Any:
    """Returns the schema without room for fields that it does not describe. Reasons inside of others have any facts."""
    if isinstance(part, list):
        return [strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    closed = {key: value if key == "then" else strict(value) for key, value in part.items()}
    is_open = "additionalProperties" in part or "code" in part.get("properties", {})
    return closed if is_open or "required" not in part else {**closed, "unevaluatedProperties": False}


def check(document: Any, name: str) -> None:
    """Validates a document, read back from JSON as a program would read it."""
    told = json.loads(json.dumps(document, allow_nan=False))
    jsonschema.Draft202012Validator(strict(schema(name))).validate(told)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_of_draft_2020_12_and_describes_itself(name: str) -> None:
    document = schema(name)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["title"] and document["description"]


@pytest.mark.parametrize("make", RUNS)
def test_the_report_of_every_kind_of_run_is_as_described(make: Callable[[Path], Journal], tmp_path: Path) -> None:
    check(make_report(make(tmp_path), PRICES, BEGAN + 2000), "report")


def test_a_move_that_was_rolled_back_says_why_in_words_and_with_a_code(tmp_path: Path) -> None:
    report = make_report(synthetic.moved_run(tmp_path), PRICES, BEGAN + 2000)
    undone, done = report["moves"]
    assert (undone["outcome"], undone["outcome_code"]) == ("rolled_back", "said")
    assert undone["outcome_facts"] == {"text": undone["outcome_reason"]}
    assert (done["outcome"], done["outcome_code"], done["outcome_facts"]) == ("done", None, None)
    assert done["reason_code"] == "said" and done["reason_facts"] == {"text": done["reason"]}


def test_the_report_of_a_run_of_the_loop_and_its_capacity_file_are_as_described(tmp_path: Path) -> None:
    one = Controller(new_world(), tmp_path)
    one.optimizer.run()
    check(json.loads((tmp_path / "runs" / "latest" / "report.json").read_text()), "report")
    check(json.loads(one.environment.capacity_file.read_text()), "capacity")


@pytest.mark.parametrize("name", ["bucket", "flavor", "move", "nothing"])
def test_the_outline_of_a_plan_is_as_described(name: str, tmp_path: Path) -> None:
    plan = parse_plan(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))
    write_outline(tmp_path / "outline.json", "local", outline_of(plan))
    check(json.loads((tmp_path / "outline.json").read_text()), "plan outline")
    assert read_outline(tmp_path / "outline.json", "local") == outline_of(plan)


@pytest.mark.parametrize("broken", [{}, {"capacity": {"c5.large": -1}}, {"capacity": {}, "region": "eu"}])
def test_what_is_no_capacity_file_is_told_apart(broken: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema("capacity"))


@pytest.mark.parametrize("name", ["bare", "training", "fired"])
def test_the_lease_is_as_described(name: str) -> None:
    first = claim("one").first(BEGAN)
    known = replace(first, run="r", stage="training", step=3, step_at=BEGAN, ended_at=BEGAN + 1, released=True)
    known = replace(known, run_holder=first.holder, waits_since=BEGAN)
    lease = {"bare": first, "training": known, "fired": replace(known, fired=Fired("reaper", "outlived", BEGAN))}[name]
    check(json.loads(to_document(lease)), "lease")


def test_what_a_person_asks_is_as_described() -> None:
    bucket = BucketInMemory()
    ask_to_stop(bucket, Asked("r001", "ada@laptop", BEGAN), 1)
    check(json.loads(bucket.kept[keys.ASKED][0]), "asked")


def test_the_index_of_runs_is_as_described() -> None:
    bucket = BucketInMemory()
    for number in range(101):
        entry = RunEntry(f"r{number:03}", f"2027-01-15T08:{number // 60:02}:{number % 60:02}Z", "running")
        bucket.put(keys.RUNS, RunsSource(bucket, lambda entry=entry: entry).content())
    document = json.loads(bucket.kept[keys.RUNS][0])
    check(document, "runs")
    assert [one["run"] for one in document] == [f"r{number:03}" for number in range(100, 0, -1)]


def test_explained_decisions_are_as_described(root: Path, capsys: Captured) -> None:
    added(root, synthetic.moved_run, "one")
    assert centavo(root, "explain", "--json") == 0
    check(json.loads(capsys.readouterr().out), "decision")
    assert centavo(root, "explain", "--list", "--json") == 0
    decisions = json.loads(capsys.readouterr().out)
    for decision in decisions:
        check(decision, "decision")
    assert {decision["verdict"] for decision in decisions} == {"move", "stay", "refuse"}


@pytest.mark.usefixtures("up")
def test_status_and_facts_of_a_run_that_goes_on_are_as_described(root: Path, capsys: Captured) -> None:
    added(root, synthetic.running_run, "one")
    assert centavo(root, "status", "--json") == 0
    check(json.loads(capsys.readouterr().out), "status")
    assert centavo(root, "facts", "--json") == 0
    check(json.loads(capsys.readouterr().out), "observation")


@pytest.mark.usefixtures("up")
def test_of_a_node_of_which_nothing_is_known_the_facts_have_a_code(root: Path, capsys: Captured) -> None:
    def boot(runs: Path) -> Journal:
        run = SyntheticRun(runs)
        run.boot()
        return run.journal

    added(root, boot, "one")
    assert centavo(root, "facts", "--json") == 0
    observation = json.loads(capsys.readouterr().out)
    check(observation, "observation")
    assert [node["reason_code"] for node in observation["unknown"]] == ["not-asked"] * 6


@pytest.mark.usefixtures("down")
def test_the_status_of_an_ended_run_is_as_described(root: Path, capsys: Captured) -> None:
    added(root, synthetic.failed_run, "one")
    assert centavo(root, "status", "--json") == 0
    check(json.loads(capsys.readouterr().out), "status")


def lines_of(journal: Journal) -> list[dict[str, Any]]:
    """A log of everything that the journal of a run has, and of a move that is rolled back."""
    stream = io.StringIO()
    log = LogReporter(journal.info().run, LogFormat.JSON, stream)
    log.note(BEGAN, "bringing the fleet up")
    for observation in journal.observations():
        log.observed(observation, None, 0.5)
    decisions: list[Decision] = list(journal.decisions())
    for decision in decisions:
        log.decided(decision)
    for move in journal.moves():
        log.moved(move.at, move, "a step")
    undone = Move(9, BEGAN, FLEET, FLEET, Said("why"), MovePhase.ROLLED_BACK, outcome_reason=Said("no capacity"))
    log.moved(BEGAN, undone, "it is undone")
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_line_of_the_log_is_as_described(tmp_path: Path) -> None:
    lines = lines_of(synthetic.moved_run(tmp_path))
    for line in lines:
        check(line, "log line")
    assert {line["event"] for line in lines} == {"note", "observation", "decision", "move"}
    assert lines[-1]["outcome_code"] == "said" and lines[-1]["outcome_facts"] == {"text": "no capacity"}
