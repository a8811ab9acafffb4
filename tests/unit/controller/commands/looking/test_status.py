"""`centavo status`: what it prints, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.domain.reasons.flavors import MemoryTooSmall
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import PRICES


@pytest.mark.usefixtures("up")
def test_status_tells_of_a_run_that_goes_on(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.running_run, "one")
    assert centavo(root, "status") == 0
    told = capsys.readouterr().out
    assert "run  20270115T080000Z" in told
    assert "status  running" in told
    assert "fleet  1 x c5.2xlarge, 1 x c5.large, 1 x c5.xlarge" in told
    assert "-> 6 x c5.large: growing" in told
    assert centavo(root, "status", "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["is_up"] is True
    assert document["stage"] == "training"
    assert document["fleet"] == dict(journal.observations()[-1].fleet)
    assert document["usd_per_hour"] == pytest.approx(sum(PRICES.values()))
    assert (document["step"], document["total_steps"]) == (journal.observations()[-1].facts[0].step, 3000)
    assert "6 ranks train" in document["summary"]


@pytest.mark.usefixtures("down")
def test_status_of_an_ended_run_asks_no_node(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.failed_run, "one")
    assert centavo(root, "status", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["is_up"] is False
    assert document["status"] == "failed"
    assert document["spent_usd"] == pytest.approx(journal.spent_usd(journal.ended_at()), abs=1e-6)
    assert "fleet" not in document


@pytest.mark.usefixtures("down")
def test_status_and_report_name_the_flavors_that_are_too_small(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.running_run, "one")
    decision = journal.last_decision()
    assert decision is not None
    note = MemoryTooSmall(1 << 30, 800 << 20, 512 << 20, is_measured=True)
    first, *others = decision.flavors
    assert centavo(root, "status") == 0
    assert "too small" not in capsys.readouterr().out
    journal.add_decision(replace(decision, at=decision.at + 1, flavors=(replace(first, notes=(note,)), *others)))
    assert centavo(root, "status") == 0
    words = "it has too little memory: 1,024 MiB"
    assert f"too small  {first.flavor}: {words}" in capsys.readouterr().out
    assert centavo(root, "status", "--json") == 0
    assert words in json.loads(capsys.readouterr().out)["too_small"][0]
    assert centavo(root, "report") == 0
    assert f"Never moved to: {first.flavor}, {words}" in " ".join(capsys.readouterr().out.split())
    (told,) = [flavor["too_small"] for flavor in report_of(journal)["flavors"].values() if flavor["too_small"]]
    assert words in told


def report_of(journal: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((journal.directory / "report.json").read_text())
    return document
