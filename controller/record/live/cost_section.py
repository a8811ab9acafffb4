"""The money in the live view: what was spent, what will be, and what moving has saved."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from controller.record.live.run_view import RunView
from controller.words.numbers import usd


def cost_section(view: RunView) -> RenderableType:
    """Returns the costs of the run, a line for each."""
    lines = [_spent(view)]
    if view.move is not None and view.saved_usd is not None:
        lines.append(f"against the first fleet: {_saved(view, view.saved_usd)}")
    cost = view.fleet_cost(view.trained) if view.trained else None
    if cost is not None:
        first = view.first_usd_per_million
        on_first = f", on the first fleet {usd(first)}" if first is not None else ""
        lines.append(f"workers alone: {usd(cost)} per million tokens{on_first}")
    return Group(Rule("money", align="left", style="dim"), *(Text(line) for line in lines))


def _spent(view: RunView) -> str:
    spent = f"spent {usd(view.spent_usd)}"
    if view.status == "running" and view.expected_usd is not None:
        spent += f" · expected {usd(view.expected_usd)} in all"
    return spent


def _saved(view: RunView, saved_usd: float) -> str:
    saved = f"{'saved' if saved_usd >= 0 else 'lost'} {usd(abs(saved_usd))}"
    if view.status != "running":
        return saved
    rest = view.still_saved_usd
    on_rest = "" if rest is None else f", {'saves' if rest >= 0 else 'loses'} {usd(abs(rest))} on the rest"
    return f"{saved} so far{on_rest}"
