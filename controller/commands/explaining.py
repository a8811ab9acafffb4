"""The command that tells why a decision came out as it did: the last one, or any in a run's journal."""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from controller.commands.context import Context
from controller.commands.journals import run_or_latest
from controller.config.constraints import in_words
from controller.domain import Decision, Limits, Verdict
from controller.domain.errors import JournalError
from controller.domain.times import iso
from controller.record.journal import codec
from controller.record.journal.journal import Journal
from controller.record.report.explanation import render_explanation
from controller.words.reasons import reason_in_words

Numbered = tuple[int, Decision]


def add_explain_options(parser: argparse.ArgumentParser) -> None:
    """Which decision, of which run, and how it is shown."""
    parser.add_argument("decision", nargs="?", type=int, help="its number, as --list shows it (default: the last one)")
    parser.add_argument("--run", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--list", action="store_true", help="all decisions of the run, in a line each")
    parser.add_argument("--json", action="store_true", help="as JSON")


def explain(context: Context, options: argparse.Namespace) -> int:
    """A decision with its evidence, and what was promised of its run; or all decisions."""
    journal = run_or_latest(context, options.run)
    if not journal.last_decision_number():
        raise JournalError("Nothing has been decided yet.", "`centavo optimize` decides as soon as facts come in.")
    if options.list:
        _list(journal, options.json)
    else:
        _tell(journal, _chosen(journal, options.decision), options.json)
    return 0


def _chosen(journal: Journal, number: int | None) -> Numbered:
    """The decision of that number, or the last. Raises JournalError where there is none."""
    last = journal.last_decision_number()
    wanted = last if number is None else number
    if not 1 <= wanted <= last:
        raise JournalError(
            f"There is no decision {wanted}: this run has 1 to {last}.", "`centavo explain --list` shows them."
        )
    return next(journal.decisions_after(wanted - 1))


def _tell(journal: Journal, numbered: Numbered, as_json: bool) -> None:
    number, decision = numbered
    if as_json:
        print(json.dumps(_plain(numbered), indent=2))
        return
    info = journal.info()
    limits = info.promises.onto(Limits())
    print(f"Decision {number} of run {info.run}, {iso(decision.at)}")
    print(render_explanation(decision, limits=limits, spent_usd=journal.spent_usd(decision.at)), end="")
    for promise in in_words(info.promises):
        print(promise)
    moves = [str(other) for other in journal.numbers_of(Verdict.MOVE) if other != number]
    if moves:
        print(f"Moves were decided in {', '.join(moves)}: `centavo explain {moves[-1]}`; `--list` shows all decisions.")


def _list(journal: Journal, as_json: bool) -> None:
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
    number, decision = numbered
    return {"number": number, **codec.plain(decision)}


def _kind(numbered: Numbered) -> tuple[Verdict, str, str]:
    """What decisions that differ in their numbers only have in common."""
    _, decision = numbered
    return decision.verdict, str(decision.target), decision.reason.code
