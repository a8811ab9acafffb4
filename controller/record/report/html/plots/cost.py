"""Dollars per million tokens over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from controller.record.report.html import series
from controller.record.report.html.plots.figure import Size, draw_line, mark_moves, one_axes
from controller.record.report.html.run import Run


def cost_over_time(run: Run, size: Size) -> Figure | None:
    """Draws the measured dollars per million tokens, with the moves marked."""
    line = series.cost_over_time(run)
    if not line.x:
        return None
    figure, axes = one_axes(size)
    draw_cost(axes, line)
    mark_moves(
        axes,
        [
            (move.move_id, series.minutes_since(run, move.ended_at))
            for move in run.moves
            if move.ended_at is not None and move.outcome_reason is None
        ],
    )
    axes.set_xlabel("minutes since the start")
    axes.set_ylabel("$ per million tokens")
    return figure


def draw_cost(axes: Axes, line: series.Line) -> None:
    """Draws a line from zero, so that a saving looks as large as it is."""
    draw_line(axes, line)
    axes.set_ylim(0, 1.15 * sorted(line.high)[int(0.99 * (len(line.high) - 1))])
