"""What the launcher writes to its fact is what the schema describes, and a full disk ends no training."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

import trainer.launch
from trainer.launch.launcher_fact import INTERVAL_S, LauncherFactWriter
from trainer.launch.nodes import Dropped

SCHEMA = json.loads(Path(trainer.launch.__path__[0], "launcher.schema.json").read_text())


def test_every_fact_is_valid(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    writer = LauncherFactWriter(tmp_path, lambda: 0.0)
    hung = Dropped("10.0.0.5", "it did not come", 1.0, 61.0, 1)
    for changes in ({}, {"state": "training", "hosts": ("b", "a"), "dropped": (hung,)}, {"reason": "x" * 9000}):
        writer.update(**changes)
        fact = json.loads((tmp_path / "launcher.fact").read_text())
        jsonschema.validate(fact, SCHEMA)
    assert fact["hosts"] == ["a", "b"]
    assert fact["dropped"][0] == {
        "address": "10.0.0.5",
        "reason": "it did not come",
        "at": "1970-01-01T00:00:01.000Z",
        "again_at": "1970-01-01T00:01:01.000Z",
        "count": 1,
    }


def test_it_is_written_at_once_where_it_changes_and_now_and_then_otherwise(tmp_path: Path) -> None:
    now = [100.0]
    writer = LauncherFactWriter(tmp_path, lambda: now[0])

    def step() -> int:
        return int(json.loads((tmp_path / "launcher.fact").read_text())["step"])

    writer.update(state="training")
    writer.update(step=5)
    assert step() == 0
    writer.update(reason="a rank is lost")
    assert step() == 5
    now[0] += INTERVAL_S
    writer.update(step=9)
    assert step() == 9
    now[0] -= 3600  # the clock was set back
    writer.update(step=11)
    assert step() == 11


def test_a_fact_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: object) -> None:
    (tmp_path / "file").touch()
    writer = LauncherFactWriter(tmp_path / "file")
    writer.update(state="training")
    writer.update(state="fetching")
    assert caplog.text.count("cannot be written") == 1  # type: ignore[attr-defined]
