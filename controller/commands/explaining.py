"""The command that tells why a decision came out as it did: the last one, or any in a run's journal."""

from __future__ import annotations

import argparse
import json
import re
from itertools import groupby

from rich.console import Console
from rich.table import Table

from controller.assembly import Workshop
from controller.commands.journals import run_or_latest
from controller.decide.explain import render_explanation
from controller.domain import Decision, Limits, Verdict
from controller.errors import JournalError
from controller.promises import in_words
from controller.record import codec
from controller.record.journal import Journal
from controller.times import iso

Numbered = tuple[int, Decision]


def add_explain_options(parser: argparse.ArgumentParser) -> None:
    """Which decision, of which run, and how it is shown."""
    parser.add_argument("decision", nargs="?", type=int, help="its number, as --list shows it (default: the last one)")
    parser.add_argument("--run", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--list", action="store_true", help="all decisions of the run, in a line each")
    parser.add_argument("--json", action="store_true", help="as JSON")


def explain(workshop: Workshop, options: argparse.Namespace) -> int:
    """A decision with its evidence, and what was promised of its run; or all decisions."""
    journal = run_or_latest(workshop, options.run)
    decisions = list(journal.decisions_after(0))
    if not decisions:
        raise JournalError("Nothing has been decided yet.", "`centavo optimize` decides as soon as facts come in.")
    if options.list:
        _list(decisions, options.json)
    else:
        _tell(journal, _chosen(decisions, options.decision), decisions, options.json)
    return 0


def _chosen(decisions: list[Numbered], number: int | None) -> Numbered:
    """The decision of that number, or the last. Raises JournalError where there is none."""
    if number is None:
        return decisions[-1]
    for numbered in decisions:
        if numbered[0] == number:
            return numbered
    raise JournalError(
        f"There is no decision {number}: this run has {decisions[0][0]} to {decisions[-1][0]}.",
        "`centavo explain --list` shows them.",
    )


def _tell(journal: Journal, numbered: Numbered, decisions: list[Numbered], as_json: bool) -> None:
    number, decision = numbered
    if as_json:
        print(json.dumps({"number": number, **codec.plain(decision)}, indent=2))
        return
    promises = journal.info().promises
    limits = Limits(deadline_at=promises.deadline_at, budget_usd=promises.budget_usd)
    print(f"Decision {number} of run {journal.info().run}, {iso(decision.at)}")
    print(render_explanation(decision, limits=limits, spent_usd=journal.spent_usd(decision.at)), end="")
    for promise in in_words(promises):
        print(promise)
    moves = [str(other) for other, made in decisions if made.verdict is Verdict.MOVE and other != number]
    if moves:
        print(f"Moves were decided in {', '.join(moves)}: `centavo explain {moves[-1]}`; `--list` shows all decisions.")


def _list(decisions: list[Numbered], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"number": number, **codec.plain(decision)} for number, decision in decisions], indent=2))
        return
    table = Table("decision", "at (UTC)", "verdict")
    table.add_column("reason", overflow="fold")
    for _, alike in groupby(decisions, key=_kind):
        of_a_kind = list(alike)
        (first, _), (last, latest) = of_a_kind[0], of_a_kind[-1]
        numbers = str(first) if first == last else f"{first} to {last}"
        table.add_row(numbers, iso(latest.at), latest.verdict.value, latest.reason)
    Console().print(table)


def _kind(numbered: Numbered) -> tuple[Verdict, str, str]:
    """What decisions that differ in their numbers only have in common."""
    _, decision = numbered
    return decision.verdict, str(decision.target), re.sub(r"[\d.]+", "#", decision.reason)
