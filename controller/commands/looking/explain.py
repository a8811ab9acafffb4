"""`centavo explain`: a decision and its evidence."""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.commands.context import Context
from controller.commands.shared.chosen_run import add_remote_option, choose
from controller.commands.shared.command import Command
from controller.domain import Decision, Limits, Verdict
from controller.domain.errors import JournalError
from controller.domain.times import iso
from controller.record.journal import Journal, codec
from controller.record.journal.reasons import described_reason
from controller.record.report.explanation import render_explanation
from controller.words.constraints import constraints_in_words
from controller.words.reasons import reason_in_words

Numbered = tuple[int, Decision]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds which decision, of which run, and the form of the output."""
    parser.add_argument("decision", nargs="?", type=int, help="its number, as --list shows it (default: the last one)")
    parser.add_argument("--run", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--list", action="store_true", help="all decisions of the run, in a line each")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_remote_option(parser)


def explain(context: Context, options: argparse.Namespace) -> int:
    """Prints a decision with its evidence and the run's deadline and budget, or lists all decisions."""
    journal = choose(context, options.run, remote=options.remote).journal
    if not journal.last_decision_number():
        raise JournalError("Nothing has been decided yet.", "`centavo optimize` decides as soon as facts come in.")
    if options.list:
        _print_all(journal, options.json)
    else:
        _print_one(journal, _chosen(journal, options.decision), options.json)
    return 0


def _chosen(journal: Journal, number: int | None) -> Numbered:
    """Returns the decision of that number, or the last one.

    Raises:
        JournalError: The run has no such decision.
    """
    last = journal.last_decision_number()
    wanted = last if number is None else number
    if not 1 <= wanted <= last:
        raise JournalError(
            f"There is no decision {wanted}: this run has 1 to {last}.", "`centavo explain --list` shows them."
        )
    return next(journal.decisions_after(wanted - 1))


def _print_one(journal: Journal, numbered: Numbered, as_json: bool) -> None:
    number, decision = numbered
    if as_json:
        print(json.dumps(_plain(numbered), indent=2))
        return
    info = journal.info()
    limits = info.constraints.onto(Limits())
    print(f"Decision {number} of run {info.run}, {iso(decision.at)}")
    print(render_explanation(decision, limits=limits, spent_usd=journal.spent_usd(decision.at)), end="")
    for words in constraints_in_words(info.constraints.deadline_at, info.constraints.budget_usd):
        print(words)
    moves = [str(other) for other in journal.numbers_of(Verdict.MOVE) if other != number]
    if moves:
        print(f"Moves were decided in {', '.join(moves)}: `centavo explain {moves[-1]}`; `--list` shows all decisions.")


def _print_all(journal: Journal, as_json: bool) -> None:
    decisions = journal.decisions_after(0)
    if as_json:
        print(json.dumps([_plain(numbered) for numbered in decisions], indent=2))
        return
    table = Table("decision", "at (UTC)", "verdict")
    table.add_column("reason", overflow="fold")
    for _, alike in groupby(decisions, key=_kind):
        of_a_kind = list(alike)
        (first, _), (last, latest) = of_a_kind[0], of_a_kind[-1]
        numbers = str(first) if first == last else f"{first} to {last}"
        table.add_row(numbers, iso(latest.at), latest.verdict.value, reason_in_words(latest.reason))
    Console().print(table)


def _plain(numbered: Numbered) -> dict[str, Any]:
    """Returns a decision as `decision.schema.json` describes it."""
    number, decision = numbered
    return {"number": number, **codec.plain(decision), **described_reason(decision.reason)}


def _kind(numbered: Numbered) -> tuple[Verdict, str, str]:
    """Returns what decisions have in common that differ only in their numbers."""
    _, decision = numbered
    return decision.verdict, str(decision.target), decision.reason.code


COMMAND = Command("explain", "a decision and its evidence: the last one, or any of a run", explain, add_options)
