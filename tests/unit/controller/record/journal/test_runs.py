"""The folders of runs, and which run a command goes on with."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from controller.domain import Fleet
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run, start_run, unfinished_run

NOW = 1_800_000_000.0


def started(runs: Path, now: float) -> Journal:
    return start_run(runs, environment="test", policy="p", initial=Fleet({"a": 1}), now=now)


def test_the_folder_of_all_runs_is_made_where_it_is_missing(tmp_path: Path) -> None:
    assert started(tmp_path / "a" / "runs", NOW).directory.is_dir()


def test_a_run_is_named_after_its_start_in_utc_wherever_the_machine_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        assert started(tmp_path, NOW).directory.name == "20270115T080000Z"
    time.tzset()


def test_the_newest_unfinished_run_is_gone_on_with(tmp_path: Path) -> None:
    started(tmp_path, NOW)
    newest = started(tmp_path, NOW + 60)
    found = unfinished_run(tmp_path, "test")
    assert found is not None and found.directory == newest.directory


def test_no_run_is_gone_on_with_once_a_newer_one_has_ended(tmp_path: Path) -> None:
    started(tmp_path, NOW)
    started(tmp_path, NOW + 60).set_stage(Stage.ENDED)
    assert unfinished_run(tmp_path, "test") is None


def test_where_there_is_no_run_none_is_found(tmp_path: Path) -> None:
    assert latest_run(tmp_path) is None and unfinished_run(tmp_path, "test") is None
