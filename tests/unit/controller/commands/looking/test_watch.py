"""`centavo watch`: on a terminal, in a pipe, and of a run that has ended."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from controller.commands.looking.watch import follow
from controller.domain.errors import StoppedError
from controller.record.journal import Journal
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun


def test_an_ended_run_is_shown_as_it_stood(root: Path, capsys: Captured) -> None:
    added(root, synthetic.failed_run, "one")
    assert centavo(root, "watch") == 0
    told = capsys.readouterr().out
    assert "failed, 1 min 45 s" in told and "the loss became nan" in told
    assert "\x1b" not in told, "no escape sequences where there is no terminal"


def test_a_run_that_goes_on_is_shown_once_where_that_is_asked_for(root: Path, capsys: Captured) -> None:
    added(root, synthetic.running_run, "one")
    assert centavo(root, "watch", "--once") == 0
    told = capsys.readouterr().out
    assert told.count("Centavo run") == 1
    assert "move 1, under way" in told


class Steps:
    """A clock whose waits are what happens meanwhile."""

    def __init__(self, run: SyntheticRun, *steps: Callable[[], object]) -> None:
        self._run, self._steps = run, list(steps)

    def now(self) -> float:
        return self._run.now

    def sleep(self, seconds: float) -> None:
        self._steps.pop(0)()


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    run = SyntheticRun(tmp_path / "runs")
    run.boot()
    run.train(3)
    return run


def stopped() -> None:
    raise StoppedError("Stopped.")


def test_without_a_terminal_there_is_a_line_for_what_is_new_and_none_for_what_is_not(run: SyntheticRun) -> None:
    stream = io.StringIO()
    clock = Steps(run, lambda: run.train(1), lambda: None, lambda: None, run.end)
    follow(Journal(run.journal.directory), PRICES, clock, Console(file=stream, width=80))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert all(f"run {run.journal.info().run}" in line and " spent" in line and "$" in line for line in lines)
    assert ["running" in line for line in lines] == [True, True, False]
    assert "finished" in lines[-1]
    assert "\x1b" not in stream.getvalue()


def test_on_a_terminal_the_view_follows_the_run_to_its_end(run: SyntheticRun) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=40, force_terminal=True)
    follow(Journal(run.journal.directory), PRICES, Steps(run, lambda: run.train(2), run.end), console)
    assert "finished, " in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[?25h"), "the cursor is shown again"


def test_who_stops_looking_does_not_stop_the_run(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    journal = added(root, synthetic.running_run, "one")
    monkeypatch.setattr("controller.edges.clock.SystemClock.sleep", lambda *_: stopped())
    assert centavo(root, "watch") == 0
    assert "The run goes on; only the watching has ended." in capsys.readouterr().out
    assert journal.status() == "running"
