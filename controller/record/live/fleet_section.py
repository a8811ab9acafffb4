"""The fleet's table in the live view: a row for each flavor."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from controller.domain import FlavorEstimate, Fleet
from controller.record.live.run_view import RunView
from controller.words.numbers import BLANK, cell, milliseconds


def fleet_section(view: RunView, most: int) -> RenderableType:
    """Returns the flavors, cheapest per token first. Of more than `most`, those that run are shown first."""
    table = Table(box=None, padding=(0, 1, 0, 0), expand=True, show_edge=False, header_style="dim")
    table.add_column("flavor", no_wrap=True, ratio=1)
    for heading in ("nodes", "$/h each", "compute, ms (80%)", "tokens/s", "$/M tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    fleet, target = view.now.fleet if view.now else Fleet({}), view.move.target if view.is_moving and view.move else {}
    names = sorted(
        {*view.initial.present, *fleet.present, *target, *view.flavors},
        key=lambda name: (_cost(view.flavors.get(name)), name),
    )
    used = [name for name in names if fleet.count(name) or name in target]
    shown = {*[*used, *(name for name in names if name not in used)][:most]}
    for flavor in names:
        if flavor in shown:
            _add_flavor(table, view, flavor, fleet.count(flavor))
    if len(names) > len(shown):
        table.add_row(f"and {len(names) - len(shown)} more", style="dim")
    return table


def _add_flavor(table: Table, view: RunView, flavor: str, count: int) -> None:
    estimate = view.flavors.get(flavor)
    price = estimate.usd_per_hour if estimate else None
    growth = view.move.target.count(flavor) - count if view.move and view.is_moving else 0
    table.add_row(
        flavor,
        f"{count or BLANK}" + (f" {growth:+d}" if growth else ""),
        cell(price if price is not None else view.usd_per_hour.get(flavor), 4),
        _compute(view, flavor) or milliseconds(estimate.compute_time_s if estimate else None),
        cell(estimate.tokens_per_s if estimate else None),
        cell(estimate.usd_per_million_tokens if estimate else None, 4),
        style="" if count or growth > 0 else "dim",
    )


def _compute(view: RunView, flavor: str) -> str | None:
    """Returns the median compute time of a step over the flavor's ranks, and between what 80% of the times lie."""
    observed = [summary.flavors[flavor] for summary in list(view.recent) if flavor in summary.flavors]
    if not observed:
        return None
    ordered = sorted(1e3 * value for times in observed for value in times.compute_time_s)
    last = len(ordered) - 1
    low, middle, high = (ordered[round(last * share)] for share in (0.1, 0.5, 0.9))
    return f"{middle:.0f} ({low:.0f}-{high:.0f})"


def _cost(estimate: FlavorEstimate | None) -> float:
    cost = estimate.usd_per_million_tokens if estimate else None
    return float("inf") if cost is None else cost
