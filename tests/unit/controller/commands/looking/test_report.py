"""`centavo report`: one run as a page, two side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.domain.errors import JournalError
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic


@pytest.mark.parametrize("name", [(), ("one",), ("latest",), ("runs/one/",)])
def test_a_report_is_made_anew_and_its_files_are_named(root: Path, name: tuple[str, ...], capsys: Captured) -> None:
    directory = added(root, synthetic.moved_run, "one").directory
    assert centavo(root, "report", *name) == 0
    told = capsys.readouterr().out
    assert "Result: finished" in told
    assert f"Report: {directory / 'report.html'}\n        {directory / 'report.json'}\n" in told
    assert (directory / "report.html").read_text().startswith("<!doctype html>")
    written = json.loads((directory / "report.json").read_text())
    assert centavo(root, "report", *name, "--json") == 0
    assert json.loads(capsys.readouterr().out) == written


def test_two_runs_are_compared_on_a_page(root: Path, capsys: Captured) -> None:
    added(root, synthetic.moveless_run, "one")
    added(root, synthetic.moved_run, "two")
    assert centavo(root, "report", "one", "two") == 0
    page = Path(capsys.readouterr().out.removeprefix("Comparison: ").strip())
    assert page.parent == root / "runs" / "two"
    assert "Two runs" in page.read_text()
    assert centavo(root, "report", "one", "two", "--json") == 0
    assert [made["fleet"]["final"] for made in json.loads(capsys.readouterr().out)] == [
        {"c5.large": 3},
        {"c5.large": 6},
    ]


def test_three_runs_are_not(root: Path, capsys: Captured) -> None:
    added(root, synthetic.moveless_run, "one")
    assert centavo(root, "report", "one", "one", "one") == JournalError.exit_code
    assert "3 runs can't be compared" in capsys.readouterr().err
