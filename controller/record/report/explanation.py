"""Explains why a decision came out as it did: what was compared, in tables with units."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from controller.domain import SECONDS_PER_HOUR, Decision, FlavorEstimate, FleetEstimate, Limits
from controller.words.numbers import BLANK, cell, usd
from controller.words.reasons import reason_in_words
from controller.words.reasons.flavors import notes_in_words
from controller.words.risks import risk_in_words


def _by_cost(flavor: FlavorEstimate) -> tuple[bool, float, str]:
    """Returns a key that sorts the cheapest first and the unknown last."""
    cost = flavor.usd_per_million_tokens
    return cost is None, cost or 0.0, flavor.flavor


def flavor_table(decision: Decision) -> Table:
    """Returns a table of what is known of each flavor."""
    table = Table("flavor", title="flavors, one node of each")
    for heading in ("$/h", "tokens/s", "95% interval", "compute ms/step", "$/M tokens", "steps"):
        table.add_column(heading, justify="right")
    table.add_column("note", overflow="fold")
    for flavor in sorted(decision.flavors, key=_by_cost):
        interval = BLANK
        if flavor.tokens_per_s_low is not None and flavor.tokens_per_s_high is not None:
            interval = f"{flavor.tokens_per_s_low:,.0f} - {flavor.tokens_per_s_high:,.0f}"
        compute_ms = None if flavor.compute_time_s is None else 1e3 * flavor.compute_time_s
        table.add_row(
            flavor.flavor,
            cell(flavor.usd_per_hour, 4),
            cell(flavor.tokens_per_s),
            interval,
            cell(compute_ms, 1),
            cell(flavor.usd_per_million_tokens, 5),
            str(flavor.observations),
            notes_in_words(flavor),
        )
    return table


@dataclass(frozen=True)
class Left:
    """What deadline and budget leave from a decision on. None where there is none."""

    seconds: float | None = None
    usd: float | None = None

    @classmethod
    def of(cls, decision: Decision, limits: Limits, spent_usd: float) -> Left:
        """Returns what deadline and budget leave at a decision, when so many dollars have been spent."""
        deadline_at, budget_usd = limits.deadline_at, limits.budget_usd
        seconds = None if deadline_at is None else deadline_at - decision.at
        return cls(seconds, None if budget_usd is None else budget_usd - spent_usd)

    def marks(self, estimate: FleetEstimate) -> list[str]:
        """Returns what a fleet would not keep."""
        needs_s, needs_usd = estimate.remaining_s, estimate.remaining_usd
        is_late = self.seconds is not None and needs_s is not None and needs_s > self.seconds
        is_expensive = self.usd is not None and needs_usd is not None and needs_usd > self.usd
        return ["too late"] * is_late + ["too expensive"] * is_expensive


def fleet_table(decision: Decision, left: Left) -> Table:
    """Returns a table of the fleets that were compared, and of what deadline and budget leave for them."""
    table = Table("fleet", title="fleets, head included")
    for heading in ("ms/step", "tokens/s", "$/h", "$/M tokens", "remaining h", "remaining $"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for estimate in decision.fleets:
        traffic = estimate.traffic_usd_per_hour
        marks = ["now"] * (estimate.fleet == decision.current) + ["chosen"] * (estimate.fleet == decision.target)
        marks += [f"{usd(traffic)}/h for traffic between zones"] * (traffic > 0)
        table.add_row(*_fleet_row(estimate), ", ".join([*marks, *left.marks(estimate)]))
    if left != Left():
        names = ["deadline"] * (left.seconds is not None) + ["budget"] * (left.usd is not None)
        table.add_section()
        table.add_row(f"left by the {' and the '.join(names)}", *[""] * 4, *_left_row(left), "")
    return table


def _left_row(left: Left) -> tuple[str, str]:
    hours = "" if left.seconds is None else f"{left.seconds / SECONDS_PER_HOUR:.3f}"
    return hours, "" if left.usd is None else f"{left.usd:.4f}"


def _fleet_row(estimate: FleetEstimate) -> list[str]:
    step_ms = None if estimate.step_time_s is None else 1e3 * estimate.step_time_s
    remaining_h = None if estimate.remaining_s is None else estimate.remaining_s / SECONDS_PER_HOUR
    return [
        str(estimate.fleet),
        cell(step_ms, 1),
        cell(estimate.tokens_per_s),
        cell(estimate.usd_per_hour, 4),
        cell(estimate.usd_per_million_tokens, 5),
        cell(remaining_h, 3),
        cell(estimate.remaining_usd, 4),
    ]


def scaling_table(decision: Decision) -> Table:
    """Returns a table of what the training gains from more nodes, and where it stops being worth it."""
    table = Table("nodes", title="scaling")
    for heading in ("ms/step", "speed-up", "efficiency", "$/M tokens", "time saved by one more"):
        table.add_column(heading, justify="right")
    rows = [row for row in decision.scaling if row.step_time_s is not None and row.usd_per_million_tokens is not None]
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        assert row.step_time_s is not None and rows[0].step_time_s is not None
        per_first = rows[0].step_time_s * rows[0].fleet.size
        gain = BLANK
        if following is not None and following.step_time_s is not None:
            gained = 1 - (following.step_time_s / row.step_time_s)
            gain = f"{gained / (following.fleet.size - row.fleet.size):.1%}"
        table.add_row(
            str(row.fleet),
            f"{1e3 * row.step_time_s:.1f}",
            f"{per_first / row.step_time_s:.2f} x",
            f"{per_first / row.step_time_s / row.fleet.size:.0%}",
            cell(row.usd_per_million_tokens, 5),
            gain,
        )
    return table


def render_explanation(
    decision: Decision, width: int = 120, *, limits: Limits | None = None, spent_usd: float = 0.0
) -> str:
    """Returns the whole explanation as text: verdict, reason, and the tables.

    Args:
        width: Characters of a line.
        limits: The limits of the run. With them, deadline and budget are in the table of fleets.
        spent_usd: What had been spent when it was decided.
    """
    left = Left() if limits is None else Left.of(decision, limits, spent_usd)
    console = Console(file=io.StringIO(), width=width, record=False, color_system=None)
    console.print(
        f"{decision.verdict.value.upper()}  (policy {decision.policy})  {reason_in_words(decision.reason)}",
        soft_wrap=True,
    )
    console.print(f"now: {decision.current}    target: {decision.target}", soft_wrap=True)
    if decision.saving_usd is not None:
        switching = "" if decision.switching_usd is None else f", after {usd(decision.switching_usd)} for switching"
        console.print(f"expected saving on the remaining work: {usd(decision.saving_usd)}{switching}")
    for words in [] if decision.risk is None else risk_in_words(decision.risk):
        console.print(words, soft_wrap=True)
    console.print(flavor_table(decision))
    if decision.fleets:
        console.print(fleet_table(decision, left))
    if decision.scaling:
        console.print(scaling_table(decision))
    if decision.bad_nodes:
        console.print(f"far slower than their flavor: {', '.join(decision.bad_nodes)}")
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()
