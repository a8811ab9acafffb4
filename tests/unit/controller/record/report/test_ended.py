"""How a run that has ended is told: its error with an exit code of its own, its tables, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from controller.domain import errors
from controller.domain.errors import BudgetReachedError, CentavoError, TrainingFailedError
from controller.domain.health import Remedy, RemedyKind
from controller.domain.reasons import Said
from controller.record.report.ended import error_of
from controller.record.report.html.page import write_page
from controller.record.report.report import make_report
from controller.record.report.summary_tables import print_summary
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import PRICES, SyntheticRun


def test_a_budget_that_is_reached_is_no_failure(tmp_path: Path) -> None:
    journal = synthetic.stopped_run(tmp_path)
    report = make_report(journal, PRICES, 0.0)
    assert (report["status"], report["status_code"]) == ("budget_reached", "budget-reached")
    error = error_of(report, journal.directory)
    assert isinstance(error, BudgetReachedError) and "the budget of $0.0500 is reached" in error.what
    assert "BUDGET=" in error.next_step and "checkpoint" in error.next_step


def test_a_training_that_failed_and_one_that_finished(tmp_path: Path) -> None:
    failed = synthetic.failed_run(tmp_path / "failed")
    error = error_of(make_report(failed, PRICES, 0.0), failed.directory)
    assert isinstance(error, TrainingFailedError) and "the loss became nan" in error.what
    finished = synthetic.moveless_run(tmp_path / "finished")
    assert error_of(make_report(finished, PRICES, 0.0), finished.directory) is None


def test_no_two_errors_share_an_exit_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CentavoError)]
    codes = [kind.exit_code for kind in kinds if "exit_code" in vars(kind)]
    assert len(codes) == len(set(codes)) and BudgetReachedError.exit_code == 14


def test_the_report_its_tables_and_its_page_tell_of_each_remedy(tmp_path: Path) -> None:
    journal = synthetic.stopped_run(tmp_path)
    report = make_report(journal, PRICES, 0.0)
    assert [(one["remedy"], one["node"], one["reason_code"]) for one in report["remedies"]] == [
        ("drop_rank", "i-c5.large-0000", "rank-hangs"),
        ("restart_launcher", None, "launcher-died"),
    ]
    console = Console(width=200, record=True, quiet=False, file=(tmp_path / "told").open("w"))
    print_summary(report, console)
    told = console.export_text()
    assert "Result: budget reached" in told and "restarting the launcher from the last checkpoint" in told
    page = write_page(journal, report).read_text()
    assert "The training was stopped:" in page and "taking the node out of the training" in page


def test_a_run_without_faults_speaks_of_none(tmp_path: Path) -> None:
    journal = synthetic.moveless_run(tmp_path)
    report = make_report(journal, PRICES, 0.0)
    assert report["remedies"] == [] and "<h2>Faults" not in write_page(journal, report).read_text()


def test_remedies_come_back_as_they_were_kept_and_the_last_ones_stay(tmp_path: Path) -> None:
    journal = SyntheticRun(tmp_path).journal
    remedies = [Remedy(RemedyKind.REPLACE_NODE, float(n), Said(f"fault {n}"), f"i-{n}") for n in range(250)]
    for remedy in remedies:
        journal.add_remedy(remedy)
    assert journal.remedies() == tuple(remedies[50:])


@pytest.mark.parametrize("status", ["budget_reached", "failed", "interrupted"])
def test_every_way_to_end_has_a_word(tmp_path: Path, status: str) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    page = write_page(run.end(status, "why"), make_report(run.journal, PRICES, 0.0)).read_text()
    assert "budget_reached</span>" not in page and status.replace("_", " ") in page
