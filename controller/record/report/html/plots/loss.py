"""The loss over steps."""

from __future__ import annotations

from matplotlib.figure import Figure

from controller.record.report.html import series
from controller.record.report.html.plots.figure import Size, draw_line, mark_moves, one_axes
from controller.record.report.html.run import Run


def loss_over_steps(run: Run, size: Size) -> Figure | None:
    """Draws the training loss, with the moves marked."""
    line = series.loss_over_steps(run)
    if not line.x:
        return None
    figure, axes = one_axes(size)
    draw_line(axes, line)
    mark_moves(axes, series.move_steps(run))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats per token")
    return figure
