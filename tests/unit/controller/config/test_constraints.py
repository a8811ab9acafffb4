"""Deadline and budget: given on the command line, kept in the journal, decided with, and told."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.cli import parser
from controller.commands.context import Context
from controller.commands.looking.explain import explain
from controller.commands.looking.status import status
from controller.config.checks import check_limits
from controller.config.constraints import (
    Constraints,
    parse_asked,
    parse_budget,
    parse_confidence,
    parse_deadline,
    parse_duration,
)
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.decide import DecisionInput
from controller.domain import Decision, Fleet, Limits, Observation, Verdict
from controller.domain.errors import ConfigError
from controller.domain.reasons import Said
from controller.loop import decide_on
from controller.record.journal import Stage
from controller.record.journal.runs import unfinished_run
from controller.record.live.reporter import PlainReporter
from controller.record.report.report import make_report
from controller.record.report.summary_tables import print_summary
from tests.unit.controller.harness import PRICES, SETTINGS, Controller
from tests.unit.controller.world import World

START = 1_800_000_000.0  # 2027-01-15T08:00:00Z
FLEET = Fleet({"c5.large": 1})


class StillClock:
    """A clock that stands where it is put."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def context(root: Path, at: float = START, **limits: Any) -> Context:
    """A process that starts at a time, with other limits in centavo.yml."""
    settings = {**SETTINGS, "limits": {**SETTINGS["limits"], **limits}}
    environment = Environment("test", root, parse_settings(settings, str(root / "centavo.yml")))
    return Context(environment, StillClock(at), PlainReporter())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h30m", 9000), ("1d", 86400), ("1.5h", 5400), (" 1d2h3m4s ", 93784)],
)
def test_a_duration_has_days_hours_minutes_and_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert parse_deadline(text)(START) == START + seconds


@pytest.mark.parametrize("text", ["2027-01-15T09:00:00Z", "2027-01-15T10:00:00+01:00", "2027-01-15T09:00:00.0Z"])
def test_a_deadline_may_be_a_time_with_its_zone(text: str) -> None:
    assert parse_deadline(text)(START) == START + 3600


@pytest.mark.parametrize(
    "text", ["", "10", "soon", "0m", "30m2h", "-5m", "18:00Z", "2027-01-15T09:00:00", "2027-01-15"]
)
def test_what_is_neither_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigError, match="neither a duration nor a time with its zone") as error:
        parse_deadline(text)
    assert "2h30m" in error.value.next_step and "2026-11-21T18:00:00Z" in error.value.next_step


@pytest.mark.parametrize(("text", "chance"), [("0.95", 0.95), ("95%", 0.95), (" 0.5 ", 0.5), ("99.9 %", 0.999)])
def test_a_confidence_is_a_share_or_a_percentage(text: str, chance: float) -> None:
    assert parse_confidence(text) == pytest.approx(chance)


@pytest.mark.parametrize("text", ["1", "100%", "0.4", "95", "sure", "", "nan"])
def test_what_is_no_confidence_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a chance"):
        parse_confidence(text)


def test_a_confidence_is_kept_with_the_run_until_another_is_given(tmp_path: Path) -> None:
    context(tmp_path).journal(ask=parse_asked("10m", None, "0.9"))
    again = context(tmp_path, START + 60).journal(ask=parse_asked(None, None))
    assert again.info().constraints.confidence == 0.9
    assert again.info().constraints.onto(Limits()).confidence == 0.9
    other = context(tmp_path, START + 120).journal(ask=parse_asked(None, None, "80%"))
    assert other.info().constraints.confidence == 0.8


def test_without_a_confidence_that_of_the_limits_holds() -> None:
    assert Constraints().onto(Limits(confidence=0.7)).confidence == 0.7
    assert Constraints().onto(Limits()).confidence is None


@pytest.mark.parametrize(("text", "usd"), [("5", 5.0), ("2.50", 2.5), ("$3", 3.0)])
def test_a_budget_is_a_sum_of_dollars(text: str, usd: float) -> None:
    assert parse_budget(text) == usd


@pytest.mark.parametrize("text", ["", "0", "-5", "nan", "inf", "two", "5 EUR"])
def test_a_budget_that_is_no_sum_of_money_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no sum of money"):
        parse_budget(text)


def test_a_deadline_before_the_runs_start_begins_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not after the run's start, 2027-01-15T08:00:00Z"):
        context(tmp_path).journal(ask=parse_asked("2027-01-15T07:00:00Z", None))
    assert unfinished_run(tmp_path / "runs", "test") is None


def test_a_run_that_is_taken_up_again_keeps_what_was_asked_until_it_is_asked_anew(tmp_path: Path) -> None:
    context(tmp_path).journal(ask=parse_asked("10m", "5"))
    kept = context(tmp_path, START + 300).journal()
    assert kept.info().constraints == Constraints(START + 600, 5.0)
    other = context(tmp_path, START + 300).journal(ask=parse_asked("20m", None))
    assert other.info().constraints == Constraints(START + 1200, 5.0), "a duration counts from the run's start"
    cheaper = context(tmp_path, START + 300).journal(ask=parse_asked(None, "4"))
    assert cheaper.info().constraints == Constraints(START + 1200, 4.0)


def test_centavo_yml_holds_for_what_was_not_asked_and_is_read_anew(tmp_path: Path) -> None:
    asked = context(tmp_path, deadline_at=START + 7200, budget_usd=9.0).journal(ask=parse_asked("10m", None))
    assert asked.info().constraints == Constraints(START + 600, 9.0)
    assert context(tmp_path, budget_usd=8.0).journal().info().constraints == Constraints(START + 600, 8.0)
    assert context(tmp_path).journal().info().constraints == Constraints(START + 600, None)


def test_a_new_run_knows_nothing_of_what_was_asked_of_the_last(tmp_path: Path) -> None:
    first = context(tmp_path).journal(ask=parse_asked("10m", "5"))
    first.set_stage(Stage.ENDED)
    assert context(tmp_path, START + 900).journal().info().constraints == Constraints()


def test_no_budget_is_above_the_ceiling_of_centavo_yml(tmp_path: Path) -> None:
    assert context(tmp_path, ceiling_usd=3.0).journal().info().constraints.budget_usd == 3.0
    assert context(tmp_path, ceiling_usd=3.0, budget_usd=2.0).journal().info().constraints.budget_usd == 2.0
    asked = context(tmp_path, ceiling_usd=3.0).journal(ask=parse_asked(None, "3"))
    assert asked.info().constraints.budget_usd == 3.0
    lowered = context(tmp_path, ceiling_usd=1.0).journal()
    assert lowered.info().constraints.budget_usd == 1.0, "a ceiling that is lowered holds for a run that goes on"
    assert lowered.info().constraints.onto(Limits(budget_usd=9.0)).budget_usd == 1.0


def test_a_budget_above_the_ceiling_is_refused_before_a_run_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"budget of \$5.00 is above limits.ceiling_usd \(\$3.00\)"):
        context(tmp_path, ceiling_usd=3.0).journal(ask=parse_asked(None, "5"))
    with pytest.raises(ConfigError, match=r"budget of \$4.00 is above limits.ceiling_usd"):
        check_limits(context(tmp_path, ceiling_usd=3.0, budget_usd=4.0).environment, PRICES)
    assert unfinished_run(tmp_path / "runs", "test") is None


def test_a_run_that_an_older_centavo_began_has_no_ceiling(tmp_path: Path) -> None:
    journal = context(tmp_path).journal()
    journal._set("configured", '{"deadline_at": null, "budget_usd": 2.0}')
    assert journal.info().constraints == Constraints(None, 2.0)


def test_deciding_is_bound_by_what_was_asked_over_what_centavo_yml_says(tmp_path: Path) -> None:
    asked: list[Limits] = []

    def decide(given: DecisionInput) -> Decision:
        asked.append(given.limits)
        return Decision(START, "p", Verdict.STAY, FLEET, FLEET, Said("nothing to do"))

    here = context(tmp_path, deadline_at=START + 7200, max_nodes=7, budget_usd=9.0)
    journal = here.journal(ask=parse_asked("10m", None))
    decide_on(Observation(START, FLEET), journal, {}, here.environment.limits(), decide)
    assert (asked[0].deadline_at, asked[0].budget_usd, asked[0].max_nodes) == (START + 600, 9.0, 7)


def test_the_report_and_the_status_tell_of_deadline_and_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = context(tmp_path).journal(ask=parse_asked("10m", "5"))
    assert journal.info().constraints == Constraints(START + 600, 5.0)
    report = make_report(journal, PRICES, START + 60)
    assert report["limits"] == {"deadline_at": "2027-01-15T08:10:00Z", "budget_usd": 5.0}
    journal.end("finished", None, START + 700)
    print_summary(make_report(journal, PRICES, START + 700))
    told = capsys.readouterr().out
    assert "2027-01-15T08:10:00Z, missed by 1 min 40 s" in told
    assert "$5.00, $5.00 left" in told


class DownTerraform:
    """An environment that is not up."""

    def outputs(self) -> None:
        return None


def test_status_names_them_only_where_there_are_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = context(tmp_path)
    monkeypatch.setattr(here, "terraform", lambda *_: DownTerraform())
    here.journal()
    status(here, parser().parse_args(["status"]))
    assert "deadline" not in capsys.readouterr().out
    here.journal(ask=parse_asked("10m", "5"))
    status(here, parser().parse_args(["status"]))
    told = capsys.readouterr().out
    assert "deadline at  2027-01-15T08:10:00Z" in told and "budget usd  5.0000" in told
    status(here, parser().parse_args(["status", "--json"]))
    assert json.loads(capsys.readouterr().out)["budget_usd"] == 5.0


def test_explain_ends_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = context(tmp_path)
    here.journal(ask=parse_asked("10m", "5")).add_decision(
        Decision(START, "p", Verdict.STAY, FLEET, FLEET, Said("nothing to do"))
    )
    explain(here, parser().parse_args(["explain"]))
    assert capsys.readouterr().out.endswith("deadline 2027-01-15T08:10:00Z\nbudget $5.00\n")


def test_a_tight_deadline_makes_the_fleet_faster_than_it_would_be_for_cost_alone(
    world: World, controller: Callable[..., Any]
) -> None:
    """Three c5.xlarge are the fastest fleet, three c5.large the cheapest; 60 s are too little for the cheapest."""
    world.total_steps = 2000
    one: Controller = controller()
    one.journal.keep_constraints(Constraints(world.now + 60.0, None), Constraints())
    report = one.optimizer.run()
    assert [move["to"] for move in report["moves"]][:1] == [{"c5.xlarge": 3}]


def test_make_hands_every_option_over() -> None:
    root = Path(__file__).resolve().parents[4]
    given = ["POLICY=price-time", "DEADLINE=2h30m", "BUDGET=2.5", "METRICS=9464", "LOG_FORMAT=json"]
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    call = ["make", "-n", "optimize", *given]
    told = subprocess.run(call, cwd=root, env=outside, capture_output=True, text=True, check=True)
    command = told.stdout.splitlines()[-1]
    arguments = command.split("centavo --env local ")[1].replace("'", "").split()
    options = parser().parse_args(arguments)
    assert (options.policy, options.deadline, options.budget) == ("price-time", "2h30m", "2.5")
    assert (options.metrics, options.log_format) == ("9464", "json")
