"""How the live view is drawn: on a terminal of 80 columns or more, with as much detail as it has lines for.

The live view of `centavo optimize` and `centavo watch` draw the same `RunView`.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.table import Table
from rich.text import Text

from controller.record.live.cost_section import cost_section
from controller.record.live.detail import DETAILS, Detail
from controller.record.live.event_sections import decisions_section, move_section, notes_section
from controller.record.live.fleet_section import fleet_section
from controller.record.live.run_view import RunView
from controller.record.live.training_section import training_section
from controller.words.numbers import duration
from controller.words.statuses import status_in_words

MOST_COLUMNS = 120
"""A wider view would only part the numbers from their names."""


class Drawing:
    """The view as it is at each refresh, with as much detail as the terminal has lines for."""

    def __init__(self, view: RunView, now: Callable[[], float]) -> None:
        self._view, self._now = view, now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the most detailed drawing that fits."""
        now = self._now()
        for detail in DETAILS:
            drawn = render(self._view, now, detail)
            if len(console.render_lines(drawn, options, pad=False)) < console.size.height:
                break
        yield drawn


def render(view: RunView, now: float, detail: Detail = DETAILS[0]) -> RenderableType:
    """Returns the view as it is drawn. 80 columns are enough for it."""
    parts: list[RenderableType] = [
        _head(view, now),
        fleet_section(view, detail.flavors),
        training_section(view),
        cost_section(view),
    ]
    if view.move is not None and (detail.has_ended_move or view.is_moving):
        parts.append(move_section(view, view.move, detail))
    parts.append(decisions_section(view, detail))
    if view.notes and (detail.notes or view.now is None):
        parts.append(notes_section(view, max(1, detail.notes)))
    return Constrain(Group(*parts), MOST_COLUMNS)


def _head(view: RunView, now: float) -> RenderableType:
    text = Text.assemble(
        ("Centavo ", "bold"), f"run {view.run} · {view.environment} · {view.policy}", overflow="ellipsis", no_wrap=True
    )
    state = f"{status_in_words(view.status)}, {duration((view.ended_at or now) - view.started_at)}"
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(text, Text(state, style="bold" if view.status in ("running", "finished") else "bold red"))
    return Group(grid, Text(view.status_reason, style="red")) if view.status_reason else grid
