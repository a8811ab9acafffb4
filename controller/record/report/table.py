"""The tables that a person reads at the end of a run, and of `status` and `facts`. Every column has its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from controller.domain import Fleet, Observation
from controller.domain.times import parse_time
from controller.words.reasons import reason_in_words


def print_summary(report: Mapping[str, Any], console: Console | None = None) -> None:
    """What was measured, what was moved and why, and what it saved."""
    (console or Console()).print(
        Group(
            *[
                part
                for part in (_flavors(report), _moves(report) if report["moves"] else None, _result(report))
                if part is not None
            ]
        )
    )


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
            _number(values["usd_per_hour"], 4),
            _number(values["compute_time_s"], 3),
            _number(values["tokens_per_s"], 0),
            _number(values["usd_per_million_tokens"], 4),
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
            _number(move["took_s"], 0),
            _number(move["pause_s"], 1),
            _number(move["steps_lost"], 0),
            end_section=True,
        )
    return table


def _result(report: Mapping[str, Any]) -> Table:
    training, cost, fleet = report["training"], report["cost"], report["fleet"]
    per_token = cost["usd_per_million_tokens"]
    table = Table(title=f"Result: {report['status']}", title_justify="left", show_header=False)
    rows: list[tuple[str, RenderableType]] = [
        ("fleet", f"{Fleet(fleet['initial'])}  ->  {Fleet(fleet['final'])}"),
        (
            "training",
            f"{_number(training['steps'], 0)} steps, {_number(training['tokens'], 0)} tokens, final loss "
            f"{_number(training['final_loss'], 2)}, steps lost: {_number(training['steps_lost'], 0)}",
        ),
        ("test set", f"BLEU {_number(training['bleu'], 1)}, exact match {_percent(training['exact_match'])}"),
        (
            "cost",
            f"{_number(per_token['initial'], 4)}  ->  {_number(per_token['final'], 4)} $/million tokens"
            f" (saved {_number(cost['saved_percent'], 1)} %)",
        ),
        ("spent", f"{_number(cost['spent_usd'], 4)} $, head included"),
    ]
    rows += _promises(report)
    if report.get("status_reason"):
        rows.append(("reason", str(report["status_reason"])))
    for name, value in rows:
        table.add_row(name, value)
    return table


def _promises(report: Mapping[str, Any]) -> list[tuple[str, RenderableType]]:
    """Deadline and budget, where there are such, and what became of them."""
    deadline_at, budget_usd = report["limits"]["deadline_at"], report["limits"]["budget_usd"]
    rows: list[tuple[str, RenderableType]] = []
    if deadline_at is not None:
        late_s = parse_time(report["ended_at"]) - parse_time(deadline_at) if report["ended_at"] else None
        rows.append(("deadline", deadline_at if late_s is None else f"{deadline_at}, {_lateness(late_s)}"))
    if budget_usd is not None:
        left_usd = budget_usd - report["cost"]["spent_usd"]
        kept = f"exceeded by {-left_usd:.4f} $" if left_usd < 0 else f"{left_usd:.4f} $ left"
        rows.append(("budget", f"{budget_usd:.4f} $, {kept}"))
    return rows


def _lateness(late_s: float) -> str:
    return f"missed by {late_s:,.0f} s" if late_s > 0 else f"{-late_s:,.0f} s to spare"


def facts_table(observation: Observation) -> RenderableType:
    """One line per node, 80 columns wide: what its fact says, or that nothing is known of it; beneath, why."""
    table = Table(box=None, padding=(0, 1, 0, 0), title=f"Iteration facts: {observation.fleet}", title_justify="left")
    for name in ("instance", "flavor", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("rank", "step", "step\nms", "compute\nms", "tokens\na step", "age\ns"):
        table.add_column(name, justify="right", no_wrap=True)
    reasons: list[str] = []
    for fact in sorted(observation.facts, key=lambda fact: (fact.rank is None, fact.rank or 0)):
        table.add_row(
            fact.instance_id,
            fact.flavor,
            fact.state.value,
            "-" if fact.rank is None else f"{fact.rank}/{fact.world_size}",
            str(fact.step),
            _ms(fact.iteration_time_s),
            _ms(fact.compute_time_s),
            "-" if fact.tokens is None else f"{fact.tokens:,.0f}",
            f"{max(0.0, observation.at - fact.updated_at):.0f}",
        )
        if fact.reason:
            reasons.append(f"{fact.instance_id}: {fact.reason}")
    for node in observation.unknown:
        table.add_row(node.instance_id, node.flavor, "unknown", *["-"] * 6)
        reasons.append(f"{node.instance_id}: {reason_in_words(node.reason)}")
    return Group(table, *(Text(reason) for reason in reasons))


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:,.0f}"


def _number(value: float | None, digits: int) -> str:
    return "not known" if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return "not known" if value is None else f"{100 * value:.1f} %"
