"""How the main job tells of itself: what is on by default, what is off, and what each option turns on."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from controller.cli import parser
from controller.commands.context import Context
from controller.commands.shared.reporting import reporting
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Fleet, Move, MovePhase, Verdict
from controller.domain.errors import ConfigError
from controller.domain.reasons import Said
from controller.edges.clock import SystemClock
from controller.edges.terraform import HeadOutput, Outputs
from controller.record.export import cloud_log, cloud_metrics
from controller.record.live.reporter import PlainReporter
from controller.record.live.run_log import FILE_NAME as LOG_NAME
from controller.shipping.batches import Event
from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> SyntheticRun:
    run = SyntheticRun(tmp_path / "runs")
    run.boot()
    return run


@pytest.fixture
def context(tmp_path: Path) -> Context:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, tmp_path / "centavo.yml"))
    (tmp_path / "training.yml").write_text("model: { preset: tiny }\n")
    environment.directory.mkdir(parents=True)
    environment.prices_file.write_text("".join(f"{flavor}: {usd}\n" for flavor, usd in PRICES.items()))
    return Context(environment, SystemClock(), PlainReporter())


def asked(*options: str) -> argparse.Namespace:
    return parser().parse_args(["optimize", *options])


def tell(context: Context, run: SyntheticRun) -> None:
    """A look, a decision, a move of two steps, and a note."""
    observation, target = run.observe(), Fleet({"c5.large": 6})
    reporter = context.reporter
    reporter.observed(observation, None, 0.25)
    reporter.decided(run.decision(observation, Verdict.MOVE, target, "51 % cheaper"))
    for phase in (MovePhase.GROWING, MovePhase.DONE):
        reporter.moved(
            run.now, Move(1, run.now, run.fleet, target, Said("51 % cheaper"), phase), f"it is {phase.value}"
        )
    reporter.note(run.now, "fetching the results")


def test_by_default_lines_for_people_are_written_to_the_output_and_to_the_runs_log(
    context: Context, run: SyntheticRun, capsys: Captured
) -> None:
    with reporting(context, run.journal, asked()):
        tell(context, run)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 5
    assert "\x1b" not in printed
    assert (run.journal.directory / LOG_NAME).read_text() == printed


def test_by_default_everything_is_reported_and_nothing_is_served(
    context: Context, run: SyntheticRun, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    served: list[object] = []
    monkeypatch.setattr("controller.commands.shared.reporting.serve", lambda *given: served.append(given))
    with reporting(context, run.journal, asked()):
        tell(context, run)
    assert served == []
    printed = capsys.readouterr().out
    assert "Metrics:" not in printed
    assert [part in printed for part in ("51 % cheaper", "it is growing", "it is done", "fetching")] == [True] * 4


def test_metrics_are_served_on_loopback_where_only_a_port_is_given(
    context: Context, run: SyntheticRun, capsys: Captured
) -> None:
    with reporting(context, run.journal, asked("--metrics", "0")):
        tell(context, run)
        told = re.match(r"Metrics: (http://127\.0\.0\.1:\d+/metrics)\n", capsys.readouterr().out)
        assert told is not None
        with urllib.request.urlopen(told[1]) as answer:
            text = answer.read().decode()
    assert 'centavo_decisions_total{verdict="move"} 1.0\n' in text
    assert 'centavo_moves_total{outcome="done"} 1.0\n' in text


def test_a_wrong_address_ends_the_command_before_anything_is_begun(context: Context, run: SyntheticRun) -> None:
    with pytest.raises(ConfigError, match="is no port"), reporting(context, run.journal, asked("--metrics", "here")):
        raise AssertionError("it began")


def test_json_lines_each_carry_run_and_move(context: Context, run: SyntheticRun, capsys: Captured) -> None:
    with reporting(context, run.journal, asked("--log-format", "json")):
        tell(context, run)
    printed = capsys.readouterr().out
    assert (run.journal.directory / LOG_NAME).read_text() == printed
    lines: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    assert [(line["event"], line["move"]) for line in lines] == [
        ("observation", None), ("decision", None), ("move", 1), ("move", 1), ("note", None)]  # fmt: skip
    assert {line["run"] for line in lines} == {run.journal.info().run}


def test_a_run_that_is_carried_on_adds_to_its_log(context: Context, run: SyntheticRun) -> None:
    for _ in range(2):
        with reporting(context, run.journal, asked()):
            context.reporter.note(run.now, "hello")
    assert (run.journal.directory / LOG_NAME).read_text().count("hello") == 2


def take_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is a terminal of 80 columns and 40 lines. No fixture: those are made with another output."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)


def test_on_a_terminal_there_is_the_live_view_and_the_lines_are_in_the_log_alone(
    context: Context, run: SyntheticRun, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    take_for_a_terminal(monkeypatch)
    with reporting(context, run.journal, asked()):
        run.train(2)
        tell(context, run)
    printed = capsys.readouterr().out
    assert "Centavo" in printed and "\x1b" in printed
    assert "fetching the results" not in printed, "it was told, and is not in the journal that the view shows"
    assert "fetching the results" in (run.journal.directory / LOG_NAME).read_text()


@pytest.mark.parametrize("option", [("--plain",), ("--log-format", "json")])
def test_on_a_terminal_there_are_lines_too_where_they_are_asked_for(
    context: Context,
    run: SyntheticRun,
    option: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    take_for_a_terminal(monkeypatch)
    with reporting(context, run.journal, asked(*option)):
        tell(context, run)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert len(printed.splitlines()) == 5


def test_what_was_asked_for_is_kept_so_that_the_run_can_be_repeated(context: Context, run: SyntheticRun) -> None:
    words = ("--deadline", "2h30m", "--confidence", "0.9", "--budget", "5", "--interval", "4")
    with reporting(context, run.journal, asked(*words)):
        pass
    setup = json.loads((run.journal.directory / "setup.json").read_text())
    assert setup["command"] == {
        "ENV": "test",
        "POLICY": "cheapest-fleet",
        "INTERVAL": 4.0,
        "DEADLINE": "2h30m",
        "BUDGET": "5",
        "CONFIDENCE": "0.9",
    }


class CloudWatch:
    """What CloudWatch was sent."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.metrics: dict[str, float] = {}
        self.clusters: set[str] = set()

    def send(self, stream: str, events: Sequence[Event]) -> int:
        self.lines += [(stream, event.message) for event in events]
        return 0

    def put_metric_data(self, Namespace: str, MetricData: list[dict[str, Any]]) -> None:  # noqa: N803
        self.metrics |= {metric["MetricName"]: metric["Value"] for metric in MetricData}
        self.clusters |= {dimension["Value"] for metric in MetricData for dimension in metric["Dimensions"]}


@pytest.fixture
def cloudwatch(monkeypatch: pytest.MonkeyPatch) -> CloudWatch:
    """CloudWatch, for a cluster whose name the command knows."""
    sent, head = CloudWatch(), HeadOutput("i-head", "10.0.0.1", None, "t3.small")
    outputs = Outputs("unit", "us-east-1", "bucket", head, {}, log_group="/centavo/unit")
    monkeypatch.setattr(Context, "known", lambda _: outputs)
    monkeypatch.setattr(cloud_log, "CloudWatch", lambda group, connect: sent if group == "/centavo/unit" else None)
    monkeypatch.setattr(cloud_metrics, "_client", lambda region: sent)
    monkeypatch.setattr(cloud_metrics, "EVERY_S", 0.02)
    return sent


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_runs_log_goes_to_cloudwatch_to_its_last_line(
    context: Context, run: SyntheticRun, cloudwatch: CloudWatch
) -> None:
    with reporting(context, run.journal, asked()):
        tell(context, run)
    stream, written = f"{run.journal.info().run}/controller", (run.journal.directory / LOG_NAME).read_text()
    assert cloudwatch.lines == [(stream, line) for line in written.splitlines()]
    assert cloudwatch.metrics == {}, "nobody has asked for metrics"


def test_metrics_go_to_cloudwatch_where_the_settings_ask_for_it(
    context: Context, run: SyntheticRun, cloudwatch: CloudWatch
) -> None:
    settings = parse_settings({**SETTINGS, "metrics": {"cloudwatch": True}}, "centavo.yml")
    context.environment = Environment("test", context.environment.root, settings)
    with reporting(context, run.journal, asked()):
        tell(context, run)
        until(lambda: cloudwatch.metrics.get("SpentUsd") == 0.25)
    assert cloudwatch.metrics["FleetNodes"] == run.fleet.size and cloudwatch.clusters == {"unit"}
