"""`centavo explain`: the last decision, any other of any run, and all of them in a list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.config.constraints import NO_CONSTRAINTS, Constraints
from controller.domain import Verdict
from controller.domain.errors import JournalError
from controller.record.journal import Journal
from controller.words.reasons import reason_in_words
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic


def first_move(journal: Journal) -> int:
    return next(number for number, decision in journal.decisions_after(0) if decision.verdict is Verdict.MOVE)


def test_the_last_decision_is_told_with_where_the_moves_are(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.moved_run, "one")
    assert centavo(root, "explain") == 0
    told = capsys.readouterr().out
    assert f"Decision {journal.last_decision_number()} of run " in told
    moves = [number for number, decision in journal.decisions_after(0) if decision.verdict is Verdict.MOVE]
    assert f"Moves were decided in {', '.join(map(str, moves))}: `centavo explain {moves[-1]}`" in told


def test_any_decision_of_any_run_is_told_as_text_and_as_json(root: Path, capsys: Captured) -> None:
    number = first_move(added(root, synthetic.moved_run, "one"))
    added(root, synthetic.moveless_run, "two")
    assert centavo(root, "explain", str(number), "--run", "one") == 0
    told = capsys.readouterr().out
    assert f"Decision {number} of run " in told
    assert "MOVE " in told
    assert centavo(root, "explain", str(number), "--run", "one", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["number"], document["verdict"]) == (number, "move")


def test_what_deadline_and_budget_left_at_that_moment_is_in_the_table(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.moved_run, "one")
    number = first_move(journal)
    decision = dict(journal.decisions_after(0))[number]
    budget_usd = journal.spent_usd(decision.at) + 0.5
    journal.keep_constraints(Constraints(deadline_at=decision.at + 1800.0, budget_usd=budget_usd), NO_CONSTRAINTS)
    assert centavo(root, "explain", str(number)) == 0
    [left] = [line for line in capsys.readouterr().out.splitlines() if "left by the" in line]
    assert " 0.500 " in left
    assert " 0.5000 " in left


def test_decisions_that_differ_in_numbers_only_are_one_line_of_the_list(root: Path, capsys: Captured) -> None:
    journal = added(root, synthetic.moved_run, "one")
    assert centavo(root, "explain", "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < journal.last_decision_number()
    assert any(f" to {journal.last_decision_number()} " in line for line in lines)
    assert centavo(root, "explain", "--list", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == journal.last_decision_number()


@pytest.mark.parametrize("number", ["0", "100000"])
def test_a_decision_that_is_not_there_is_refused_with_those_that_are(root: Path, number: str, capsys: Captured) -> None:
    last = added(root, synthetic.moved_run, "one").last_decision_number()
    assert centavo(root, "explain", number) == JournalError.exit_code
    told = capsys.readouterr().err
    assert f"There is no decision {number}: this run has 1 to {last}." in told
    assert "centavo explain --list" in told


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
