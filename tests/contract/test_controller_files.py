"""The files that others read: what is in them. `test_schemas.py` validates their form."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from controller.domain.times import parse_time
from controller.observe.facts import parse_fact
from tests.unit.controller.harness import Controller, new_world


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Controller:
    """A controller whose run has ended."""
    one = Controller(new_world(), tmp_path_factory.mktemp("run"))
    one.optimizer.run()
    return one


def test_the_report_tells_of_flavors_and_saving(finished: Controller) -> None:
    report = json.loads((finished.root / "runs" / "latest" / "report.json").read_text())
    assert report["flavors"].keys() == {"t2.medium", "c5.large", "c5.xlarge"}
    per_token = report["cost"]["usd_per_million_tokens"]
    saved_percent = 100 * (1 - per_token["final"] / per_token["initial"])
    assert report["cost"]["saved_percent"] == pytest.approx(saved_percent, abs=0.1)


def test_the_capacity_file_is_a_terraform_variables_file_with_every_flavor(finished: Controller) -> None:
    content = json.loads(finished.environment.capacity_file.read_text())
    assert content == {"capacity": {"c5.large": 0, "c5.xlarge": 0, "t2.medium": 0}}


def test_the_journal_has_the_tables_that_reports_and_tools_read(finished: Controller) -> None:
    with sqlite3.connect(finished.journal.directory / "journal.sqlite") as database:
        columns = {
            table: {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            for table in ("run", "observations", "decisions", "moves", "events", "unavailable")
        }
        phases = [row[0] for row in database.execute("SELECT phase FROM moves")]
    assert columns["run"] == {"key", "value"}
    assert {"at", "fleet", "facts", "unknown", "usd_per_hour"} <= columns["observations"]
    assert {"at", "policy", "verdict", "reason", "decision"} <= columns["decisions"]
    assert {
        "move_id",
        "at",
        "source",
        "target",
        "reason",
        "phase",
        "grown",
        "drain",
        "outcome_reason",
        "ended_at",
        "pause_s",
        "steps_lost",
    } <= columns["moves"]
    assert phases == ["done"]


def test_a_refused_decision_stands_in_the_journal_with_its_reason(finished: Controller) -> None:
    decisions = list(finished.journal.decisions())
    assert {decision.verdict.value for decision in decisions} >= {"move", "stay"}
    assert all(decision.reason for decision in decisions)


def test_the_iteration_fact_of_the_design_is_read() -> None:
    fact = parse_fact(
        json.loads(
            '{"schema": 1, "instance_id": "i-1", "flavor": "c5.xlarge", "rank": 3, "world_size": 6, '
            '"state": "training", "step": 1480, "iteration_time_s": 0.412, "compute_time_s": 0.301, '
            '"samples": 64, "tokens": 2710, "window": 50, "peak_memory_bytes": 812646400, '
            '"updated_at": "2026-11-21T06:00:00Z", "reason": null}'
        ),
        now=parse_time("2026-11-21T06:00:01Z"),
        max_age_s=30,
    )
    assert (fact.tokens, fact.compute_time_s, fact.window) == (2710, 0.301, 50)


def test_the_environment_variables_of_ansible_are_those_that_the_playbooks_use(finished: Controller) -> None:
    root = Path(__file__).resolve().parents[2]
    text = "".join(file.read_text() for file in (root / "ansible").rglob("*") if file.suffix in (".yml", ".j2"))
    used = {
        word.split("}")[0].split()[0].split("|")[0].split(")")[0].split(",")[0].strip("\"'")
        for word in text.split("centavo.")[1:]
    }
    given = set(finished.ansible.extra_vars["site.yml"]["centavo"])
    with_defaults = {"wheelhouse"}
    assert {name for name in used if name.isidentifier()} - with_defaults <= given
