"""The tables that a person reads at the end of a run. Every column has its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.table import Table

from controller.domain import Fleet
from controller.domain.times import parse_time
from controller.words.constraints import lateness, rest_of_budget
from controller.words.numbers import UNKNOWN, cell, number, percentage, usd
from controller.words.reasons.health import REMEDIES
from controller.words.statuses import status_in_words


def print_summary(report: Mapping[str, Any], console: Console | None = None) -> None:
    """Prints what was measured, what was moved and why, and what it saved."""
    moves = [_moves(report)] if report["moves"] else []
    remedies = [_remedies(report)] if report["remedies"] else []
    (console or Console()).print(Group(_flavors(report), *_too_small(report), *moves, *remedies, _result(report)))


def _too_small(report: Mapping[str, Any]) -> list[str]:
    """Returns a line for each flavor that can't hold the training. Older reports say nothing of it."""
    told = ((flavor, values.get("too_small")) for flavor, values in sorted(report["flavors"].items()))
    return [f"Never moved to: {flavor}, {reason}." for flavor, reason in told if reason]


def _flavors(report: Mapping[str, Any]) -> Table:
    table = Table(title=f"Run {report['run']}: flavors, measured", title_justify="left")
    table.add_column("flavor")
    for name in ("$/hour", "compute time, s", "tokens/s", "$/million tokens", "steps measured"):
        table.add_column(name, justify="right")
    ordered = sorted(
        report["flavors"].items(),
        key=lambda item: (item[1]["usd_per_million_tokens"] is None, item[1]["usd_per_million_tokens"] or 0.0),
    )
    for flavor, values in ordered:
        table.add_row(
            flavor,
            cell(values["usd_per_hour"], 4),
            cell(values["compute_time_s"], 3),
            cell(values["tokens_per_s"]),
            cell(values["usd_per_million_tokens"], 4),
            str(values["observations"]),
        )
    return table


def _moves(report: Mapping[str, Any]) -> Table:
    table = Table(title="Moves", title_justify="left")
    table.add_column("at (UTC)", no_wrap=True)
    table.add_column("from -> to, why, outcome", overflow="fold")
    for name in ("took, s", "pause, s", "steps lost"):
        table.add_column(name, justify="right")
    for move in report["moves"]:
        outcome = move["outcome"] + (f": {move['outcome_reason']}" if move["outcome_reason"] else "")
        told = f"{Fleet(move['from'])}  ->  {Fleet(move['to'])}\n{move['reason']}\n{outcome}"
        table.add_row(
            move["at"][11:19],
            told,
            cell(move["took_s"]),
            cell(move["pause_s"], 1),
            cell(move["steps_lost"]),
            end_section=True,
        )
    return table


def _remedies(report: Mapping[str, Any]) -> Table:
    table = Table(title="Faults", title_justify="left")
    table.add_column("at (UTC)", no_wrap=True)
    table.add_column("what was wrong, what was done", overflow="fold")
    for remedy in report["remedies"]:
        table.add_row(remedy["at"][11:19], f"{remedy['reason']}\n{REMEDIES[remedy['remedy']]}", end_section=True)
    return table


def _result(report: Mapping[str, Any]) -> Table:
    fleet = report["fleet"]
    table = Table(title=f"Result: {status_in_words(report['status'])}", title_justify="left", show_header=False)
    table.add_row("fleet", f"{Fleet(fleet['initial'])}  ->  {Fleet(fleet['final'])}")
    table.add_row("training", _training(report["training"]))
    table.add_row("test set", _scores(report["training"]))
    table.add_row("cost", _cost(report["cost"]))
    table.add_row("spent", f"{usd(report['cost']['spent_usd'], UNKNOWN)}, head included")
    if report["cost"].get("bill"):
        table.add_row("for", _bill(report["cost"]["bill"]))
    for name, value in _constraints(report):
        table.add_row(name, value)
    if report.get("status_reason"):
        table.add_row("reason", str(report["status_reason"]))
    return table


def _training(training: Mapping[str, Any]) -> str:
    return (
        f"{number(training['steps'])} steps, {number(training['tokens'])} tokens, "
        f"final loss {number(training['final_loss'], 2)}, steps lost: {number(training['steps_lost'])}"
    )


def _scores(training: Mapping[str, Any]) -> str:
    exact = training["exact_match"]
    return f"BLEU {number(training['bleu'], 1)}, exact match {percentage(None if exact is None else 100 * exact)}"


def _cost(cost: Mapping[str, Any]) -> str:
    per_token = cost["usd_per_million_tokens"]
    before, after = usd(per_token["initial"], UNKNOWN), usd(per_token["final"], UNKNOWN)
    return f"{before}  ->  {after} per million tokens (saved {percentage(cost['saved_percent'])})"


def _bill(lines: Mapping[str, float]) -> str:
    """Returns what was paid for, the largest first."""
    return ", ".join(f"{line} {usd(dollars)}" for line, dollars in lines.items())


def _constraints(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns deadline and budget, if there are such, and whether they were kept."""
    deadline_at, budget_usd = report["limits"]["deadline_at"], report["limits"]["budget_usd"]
    rows = []
    if deadline_at is not None:
        late_s = parse_time(report["ended_at"]) - parse_time(deadline_at) if report["ended_at"] else None
        rows.append(("deadline", deadline_at if late_s is None else f"{deadline_at}, {lateness(late_s)}"))
    if budget_usd is not None:
        rows.append(("budget", f"{usd(budget_usd)}, {rest_of_budget(budget_usd - report['cost']['spent_usd'])}"))
    return rows
