"""`centavo picture`: a run as an SVG file."""

from __future__ import annotations

from pathlib import Path

from controller.domain.errors import JournalError
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic


def test_a_picture_is_drawn_where_it_is_asked_for(root: Path, capsys: Captured) -> None:
    added(root, synthetic.moved_run, "one")
    assert centavo(root, "picture", "--out", "pictures/run.svg") == 0
    assert capsys.readouterr().out == f"Picture: {root / 'pictures' / 'run.svg'}\n"
    assert (root / "pictures" / "run.svg").read_text().startswith("<svg")


def test_there_is_no_picture_of_a_run_that_never_trained(root: Path, capsys: Captured) -> None:
    added(root, synthetic.interrupted_run, "one")
    assert centavo(root, "picture", "--out", "run.svg") == JournalError.exit_code
    assert "has measured no cost" in capsys.readouterr().err
    assert not (root / "run.svg").exists()
