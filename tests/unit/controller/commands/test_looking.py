"""The commands that look: what they print, as text and as JSON, how they end, what they say where there is nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from controller.cli import main
from controller.commands.context import Context
from controller.commands.looking import follow
from controller.domain import Observation
from controller.domain.errors import JournalError, StoppedError
from controller.record.journal.journal import FILE_NAME, Journal
from controller.words.reasons import reason_in_words
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun

Captured = pytest.CaptureFixture[str]
LOOKING = ("status", "facts", "explain", "report", "picture", "watch")


def centavo(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), "--env", "test", *arguments])


def added(root: Path, make: Callable[[Path], Journal], name: str) -> Journal:
    """A run of that name, which is the latest from now on."""
    journal = make(root / "elsewhere" / name)
    runs = root / "runs"
    runs.mkdir(exist_ok=True)
    journal.close()
    journal.directory.rename(runs / name)
    (runs / "latest").unlink(missing_ok=True)
    (runs / "latest").symlink_to(name)
    return Journal(runs / name)


class Environment:
    """Terraform of an environment that is up, or is not."""

    def __init__(self, is_up: bool) -> None:
        self._is_up = is_up

    def outputs(self) -> object | None:
        return object() if self._is_up else None


class Cluster:
    """A cluster that looks as it was seen last."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation

    @property
    def observer(self) -> Cluster:
        return self

    def look(self) -> Observation:
        return self._observation


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "terraform", lambda *_: Environment(is_up=False))


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "terraform", lambda *_: Environment(is_up=True))
    monkeypatch.setattr(Context, "cluster", lambda _, journal: Cluster(journal.observations()[-1]))


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("command", LOOKING)
def test_without_a_run_each_says_so_and_what_starts_one(root: Path, command: str, capsys: Captured) -> None:
    assert centavo(root, command) == JournalError.exit_code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "centavo: There is no run yet.\n  `centavo optimize` starts one.\n"


@pytest.mark.parametrize("arguments", [("report", "20300101T000000Z"), ("report", "one", "20300101T000000Z"),
                                       ("picture", "20300101T000000Z"), ("watch", "20300101T000000Z")])  # fmt: skip
def test_a_run_that_there_is_not_is_named(root: Path, arguments: tuple[str, ...], capsys: Captured) -> None:
    added(root, synthetic.failed_run, "one")
    assert centavo(root, *arguments) == JournalError.exit_code
    told = capsys.readouterr().err
    assert f"There is no run '20300101T000000Z' under {root / 'runs'}." in told
    assert "`ls runs` lists them" in told


def truncate(file: Path) -> None:
    """As a copy that was stopped half way leaves it: the head is there, the rest is not."""
    file.write_bytes(file.read_bytes()[: 3 * 4096])


def overwrite(file: Path) -> None:
    file.write_bytes(b"no journal" * 1000)


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("damage", [truncate, overwrite])
@pytest.mark.parametrize("command", ["status", "explain", "report", "watch"])
def test_a_damaged_journal_is_told_without_a_traceback(
    root: Path, command: str, damage: Callable[[Path], None], capsys: Captured
) -> None:
    journal = added(root, synthetic.moved_run, "one")
    journal.close()
    damage(root / "runs" / "one" / FILE_NAME)
    assert centavo(root, command) == JournalError.exit_code
    told = capsys.readouterr().err
    assert "can't be read" in told and str(root / "runs") in told
    assert "folder away" in told


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


@pytest.mark.usefixtures("up")
def test_facts_are_told_of_every_node(root: Path, capsys: Captured) -> None:
    observation = added(root, synthetic.running_run, "one").observations()[-1]
    assert centavo(root, "facts", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fleet"] == dict(observation.fleet)
    assert [fact["instance_id"] for fact in document["facts"]] == [fact.instance_id for fact in observation.facts]
    assert document["facts"][0]["compute_time_s"] == observation.facts[0].compute_time_s
    assert centavo(root, "facts") == 0
    told = capsys.readouterr().out
    for fact in observation.facts:
        (line,) = (line for line in told.splitlines() if line.startswith(fact.instance_id))
        assert fact.compute_time_s is not None
        assert line.split()[1:4] == [fact.flavor, "training", f"{fact.rank}/6"]
        assert f"{1e3 * fact.compute_time_s:.0f}" in line.split()


@pytest.mark.usefixtures("up")
def test_of_a_node_of_which_nothing_is_known_the_facts_say_why(root: Path, capsys: Captured) -> None:
    def boot(runs: Path) -> Journal:
        run = SyntheticRun(runs)
        run.boot()
        return run.journal

    added(root, boot, "one")
    assert centavo(root, "facts") == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert told.count(" unknown ") == 6
    assert "i-c5.large-0000: it was not asked\n" in told


def test_the_last_decision_is_explained(root: Path, capsys: Captured) -> None:
    decision = added(root, synthetic.moved_run, "one").last_decision()
    assert decision is not None
    assert centavo(root, "explain") == 0
    assert reason_in_words(decision.reason) in " ".join(capsys.readouterr().out.split())
    assert centavo(root, "explain", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "stay"
    assert document["target"] == {"c5.large": 6}
    assert len(document["fleets"]) == len(decision.fleets)


def test_nothing_is_explained_before_something_was_decided(root: Path, capsys: Captured) -> None:
    added(root, synthetic.interrupted_run, "one")
    assert centavo(root, "explain") == JournalError.exit_code
    assert "Nothing has been decided yet." in capsys.readouterr().err


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
    assert all(f"run {run.journal.info().run}" in line and "$ spent" in line for line in lines)
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
    assert "The run goes on; only the looking has ended." in capsys.readouterr().out
    assert journal.status() == "running"
