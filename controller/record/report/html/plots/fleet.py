"""The fleet over time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from controller.record.report.html import series
from controller.record.report.html.plots.figure import Size, legend, one_axes
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STAND_INS, colour


def fleet_over_time(run: Run, size: Size) -> Figure | None:
    """Draws the nodes by flavor, stacked."""
    minutes, counts = series.fleet_over_time(run)
    if minutes[:1] == minutes[-1:] or not any(any(values) for values in counts.values()):
        return None
    figure, axes = one_axes(size)
    draw_fleet(axes, minutes, counts)
    axes.set_xlabel("minutes since the start")
    axes.set_ylabel("nodes")
    legend(axes, size)
    return figure


def draw_fleet(axes: Axes, minutes: Sequence[float], counts: dict[str, list[int]]) -> None:
    """Draws a stack of areas with a hairline of the page's colour between them.

    A flavor that never ran keeps its colour and is left out of the legend: matplotlib leaves out names that begin with
    an underscore.
    """
    axes.stackplot(
        minutes,
        *counts.values(),
        labels=[flavor if any(nodes) else f"_{flavor}" for flavor, nodes in counts.items()],
        step="post",
        edgecolor=STAND_INS["surface"],
        linewidth=1.2,
        colors=[colour(i) for i in range(len(counts))],
    )
    axes.set_xlim(minutes[0], minutes[-1])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
