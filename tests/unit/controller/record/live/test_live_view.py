"""The live view, drawn at 80 columns."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from controller.domain import FlavorEstimate, Fleet, MovePhase, Verdict
from controller.record.journal import Journal
from controller.record.live.drawing import MOST_COLUMNS, Drawing, render
from controller.record.live.live import shown
from controller.record.live.run_view import RunView
from controller.record.live.watcher import Watcher, line_of
from controller.record.report.report import make_report
from controller.words.numbers import usd
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import BEGAN, PRICES, SyntheticRun

ERASE_LINE = "\x1b[2K"


def drawn(view: RunView, height: int = 60, now: float = BEGAN + 600, width: int = 80) -> str:
    console = Console(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True)
    console.print(Drawing(view, lambda: now))
    return console.export_text()


def watched(journal: Journal) -> RunView:
    watcher = Watcher(journal, PRICES)
    watcher.look(BEGAN + 600)
    return watcher.view


def test_a_run_in_a_move_shows_fleet_training_money_move_and_decisions(tmp_path: Path) -> None:
    text = drawn(watched(synthetic.running_run(tmp_path)))
    fleet = next(line for line in text.splitlines() if line.startswith("c5.large"))
    assert "1 +5" in fleet
    assert "0.0850" in fleet
    assert "step 482 of 3,000" in text
    assert "loss 5." in text
    assert "tokens/s" in text
    assert "to go" in text
    assert "spent $0.1" in text
    assert "expected" not in text, "two fleets are paid in a move"
    assert "move 1, under way" in text
    assert "proposed > growing > joining > shrinking > done" in text
    assert "c5.large costs 0.0073 $/M tokens, 34 % less than now" in text
    assert "(x 20)" in text


def test_after_the_move_it_says_what_the_fleet_saves(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(10)
    run.move(Fleet({"c5.large": 6}))
    run.train(5)
    text = drawn(watched(run.journal))
    assert re.search(r"against the first fleet: (saved|lost) \$0\.\d+ so far, saves \$0\.\d+ on the rest", text)
    assert "on the first fleet $0.02" in text
    assert re.search(r"expected \$0\.\d{4} in all", text)


def test_at_the_end_it_says_what_was_saved_as_the_report_does(tmp_path: Path) -> None:
    journal = synthetic.moved_run(tmp_path)
    alternatives = make_report(journal, PRICES, BEGAN + 2000)["alternatives"]
    first = next(fleet for fleet in alternatives["fleets"] if fleet["name"] == "first fleet")
    view = watched(journal)
    assert view.saved_usd == pytest.approx(first["usd"] - alternatives["training_usd"], rel=0.05)
    assert f"against the first fleet: saved {usd(view.saved_usd)}\n" in drawn(view).replace(" \n", "\n")


def test_a_run_that_moved_nothing_says_nothing_of_savings(tmp_path: Path) -> None:
    assert "against the first fleet" not in drawn(watched(synthetic.moveless_run(tmp_path)))


def many_flavors(runs: Path) -> Journal:
    """Forty flavors, of which two train, and long words."""
    flavors = [f"m{n}.24xlarge" for n in range(40)]
    run = SyntheticRun(runs, initial=Fleet({"c5.large": 3, "c5.xlarge": 3}))
    run.boot()
    observation = run.observe()
    estimates = tuple(FlavorEstimate(flavor, 1.0, None, None, None, None, None, 0) for flavor in flavors)
    decision = run.decision(observation, Verdict.REFUSE, run.fleet, "not one of them is known well enough " * 8)
    run.move(Fleet({"c5.large": 6}), reason="because " * 60, until=MovePhase.GROWING)
    run.journal.add_decision(replace(decision, flavors=(*decision.flavors, *estimates)))
    for _ in range(12):
        run.note("something was noted, in many words, " * 5)
    return run.journal


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (200, 60), (120, 30), (100, 20)])
def test_forty_flavors_and_long_reasons_fit_too(size: tuple[int, int], tmp_path: Path) -> None:
    width, height = size
    lines = drawn(watched(many_flavors(tmp_path)), height, width=width).rstrip("\n").splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= min(width, MOST_COLUMNS)
    assert any(line.startswith("c5.large") for line in lines)
    assert any(re.match(r"and \d+ more", line) for line in lines)
    assert any("decisions" in line for line in lines)


@pytest.mark.parametrize("height", [24, 12, 5])
def test_a_terminal_with_too_few_lines_is_never_scrolled(height: int, tmp_path: Path) -> None:
    stream = io.StringIO()
    console = Console(width=80, height=height, file=stream, force_terminal=True)
    with shown(watched(many_flavors(tmp_path)), console, lambda: BEGAN + 600):
        drawn_once = stream.getvalue()
    assert 1 < drawn_once.count("\n") + 1 <= height


def test_what_is_printed_meanwhile_goes_above_the_view_in_whole_lines(tmp_path: Path) -> None:
    stream = io.StringIO()
    console = Console(width=80, height=24, file=stream, force_terminal=True)
    with shown(watched(synthetic.running_run(tmp_path)), console, lambda: BEGAN + 600):
        before = len(stream.getvalue())
        print("a warning of a library")
        told = stream.getvalue()[before:]
    warning = told.index("a warning of a library\n")
    assert ERASE_LINE in told[:warning], "the view that stood there is taken away first"
    assert "Centavo" in told[warning:], "and drawn anew beneath"


def test_a_fleet_of_many_flavors_is_counted_in_what_is_said_of_it(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.decide(Fleet({"c5.large": 6}), f"6 x c5.large costs 51 % less than {run.fleet}: saves 0.02 $")
    text = " ".join(drawn(watched(run.journal)).split())
    assert "6 x c5.large costs 51 % less than 6 nodes of 6 flavors: saves 0.02 $" in text


@pytest.mark.parametrize("make", [synthetic.moved_run, synthetic.failed_run, synthetic.interrupted_run,
                                  synthetic.stopped_run, synthetic.running_run, synthetic.moveless_run])  # fmt: skip
@pytest.mark.parametrize("height", [60, 24])
def test_it_fits_the_terminal(make: Callable[[Path], Journal], height: int, tmp_path: Path) -> None:
    lines = drawn(watched(make(tmp_path)), height).rstrip("\n").splitlines()
    assert max(len(line) for line in lines) <= 80
    assert len(lines) < max(height, 25)


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    text = drawn(watched(synthetic.failed_run(tmp_path)))
    assert "failed, 1 min 45 s" in text
    assert "the loss became nan" in text


def test_a_run_whose_budget_is_reached_says_so(tmp_path: Path) -> None:
    text = drawn(watched(synthetic.stopped_run(tmp_path)))
    assert "budget reached, " in text
    assert "the budget of $0.0500 is reached" in " ".join(text.split())
    assert ", budget reached, " in line_of(watched(synthetic.stopped_run(tmp_path / "again")))


def test_a_move_that_is_undone_says_so(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(3)
    run.move(Fleet({"c5.large": 6}), failure="EC2 could not launch c5.large: insufficient capacity")
    text = drawn(watched(run.journal))
    assert "rolled back" in text
    assert "EC2 could not launch c5.large" in text


def test_before_anything_is_known_it_is_drawn_all_the_same(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    text = drawn(watched(run.journal))
    assert "no step has been seen yet" in text
    assert "none yet" in text
    assert line_of(watched(run.journal)) == ""


def test_a_second_look_takes_up_only_what_is_new(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(2)
    watcher = Watcher(run.journal, PRICES)
    assert watcher.look(run.now)
    assert [spoken.times for spoken in watcher.view.decisions] == [2]
    run.train(1)
    run.train(1, Verdict.REFUSE, "no capacity")
    assert watcher.look(run.now)
    assert [(spoken.verdict, spoken.times) for spoken in watcher.view.decisions] == [
        (Verdict.STAY, 3), (Verdict.REFUSE, 1)]  # fmt: skip
    run.move(Fleet({"c5.large": 6}), until=MovePhase.GROWING)
    watcher.look(run.now)
    assert watcher.view.move is not None
    assert watcher.view.move.phase is MovePhase.GROWING
    run.end()
    assert not watcher.look(run.now)
    assert watcher.view.status == "finished"


def test_two_watchers_of_one_journal_see_the_same(tmp_path: Path) -> None:
    journal = synthetic.moved_run(tmp_path)
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(render(watched(journal), BEGAN + 600))
    first = console.export_text()
    console.print(render(watched(Journal(journal.directory)), BEGAN + 600))
    assert console.export_text() == first
