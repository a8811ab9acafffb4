"""`centavo status`: what it prints, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
