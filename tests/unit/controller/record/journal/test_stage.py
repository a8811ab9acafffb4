"""Where a run is, what was done for its health, and how its training ended."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from controller.domain.health import Remedy, RemedyKind
from controller.domain.reasons import Said
from controller.record.journal import Journal, Stage

Reopened = Callable[[], Journal]


def test_a_new_run_is_starting_and_runs(begun: Journal) -> None:
    assert (begun.stage(), begun.status()) == (Stage.STARTING, "running")
    assert (begun.status_reason(), begun.ended_at(), begun.remedies()) == (None, None, ())


@pytest.mark.parametrize("stage", list(Stage))
def test_a_stage_is_found_by_the_next_process(begun: Journal, reopened: Reopened, stage: Stage) -> None:
    begun.set_stage(stage)
    assert reopened().stage() is stage


def test_a_run_that_failed_says_how_why_and_when(begun: Journal, reopened: Reopened) -> None:
    begun.end("failed", Said("out of memory"), 1_800_000_100.125)
    found = reopened()
    assert (found.status(), found.status_reason()) == ("failed", Said("out of memory"))
    assert found.ended_at() == 1_800_000_100.125
    assert found.stage() is Stage.STARTING, "the run itself goes on until everything is given back"


def test_a_run_that_finished_has_no_reason(begun: Journal, reopened: Reopened) -> None:
    begun.end("finished", None, 5.0)
    assert (reopened().status(), reopened().status_reason()) == ("finished", None)


def test_a_journal_without_a_status_is_of_a_run_that_goes_on(begun: Journal, reopened: Reopened) -> None:
    with sqlite3.connect(begun.directory / "journal.sqlite") as database:
        database.execute("DELETE FROM run WHERE key = 'status'")
    assert reopened().status() == "running"


def test_remedies_come_back_whole_in_the_order_in_which_they_were_tried(begun: Journal, reopened: Reopened) -> None:
    first = Remedy(RemedyKind.DROP_RANK, 5.0, Said("it hangs"), "i-1")
    second = Remedy(RemedyKind.RESTART_LAUNCHER, 6.5, Said("no step"))
    begun.add_remedy(first)
    begun.add_remedy(second)
    assert reopened().remedies() == (first, second)


def test_of_many_remedies_the_last_ones_are_kept(begun: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.record.journal.stage.KEPT_REMEDIES", 3)
    for number in range(5):
        begun.add_remedy(Remedy(RemedyKind.DROP_RANK, float(number), Said("slow")))
    assert [remedy.at for remedy in begun.remedies()] == [2.0, 3.0, 4.0]
