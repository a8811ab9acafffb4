"""`centavo report`: one run as a page, two side by side."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from controller.commands.looking import report
from controller.domain.errors import JournalError
from controller.edges.account.spending import Charged
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


class Explorer:
    """A Cost Explorer that has charged a little."""

    def __init__(self, usd: dict[str, float], *, is_estimated: bool) -> None:
        self.answer, self.asked = Charged(usd, is_estimated), list[tuple[str, date, date]]()

    def charged(self, cluster: str, first: date, end: date) -> Charged:
        self.asked.append((cluster, first, end))
        return self.answer


@pytest.mark.parametrize(
    ("usd", "is_estimated", "told"),
    [
        ({"BoxUsage:c5.large": 1.5}, False, "$1.50"),
        ({"BoxUsage:c5.large": 1.5}, True, "AWS's charges are estimates yet."),
        ({}, False, "AWS has charged nothing under the tag centavo:cluster."),
    ],
)
def test_the_bill_is_held_against_what_aws_has_charged(
    root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, usd: dict[str, float], is_estimated: bool, told: str
) -> None:
    explorer = Explorer(usd, is_estimated=is_estimated)
    monkeypatch.setattr(report, "AwsSpending", lambda: explorer)
    added(root, synthetic.moved_run, "one")
    assert centavo(root, "report", "--against-aws") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "This run beside AWS's charges for the cluster" in text and told in text
    ((cluster, first, end),) = explorer.asked
    assert cluster and (end - first).days >= 1
