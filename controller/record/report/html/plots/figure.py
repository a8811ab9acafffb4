"""What all plots share: their sizes, their axes, their legends, lines and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from controller.record.report.html import series
from controller.record.report.html.svg import STAND_INS

FEW_MOVES = 12
"""Up to so many moves are marked with their numbers."""
MANY_MOVES = 200
"""More moves than this are not marked: the marks would hide the line."""
LETTER_POINTS = 6.2
HANDLE_POINTS = 30


@dataclass(frozen=True)
class Plot:
    """A figure of the page. `wide` and `narrow` are SVG, both None if there is nothing to show."""

    name: str
    title: str
    caption: str
    wide: str | None
    narrow: str | None


@dataclass(frozen=True)
class Size:
    """The size of a figure in inches. SVG has 72 units to the inch."""

    width: float
    height: float
    is_narrow: bool


WIDE, NARROW = Size(10.4, 3.5, False), Size(5.0, 3.6, True)


def one_axes(size: Size) -> tuple[Figure, Axes]:
    """Returns a figure with one pair of axes."""
    figure = Figure((size.width, size.height), layout="constrained")
    return figure, figure.subplots()


def legend(axes: Axes, size: Size, handle_length: float = 1.2) -> None:
    """Draws the legend above the axes, in as many columns as there is room for."""
    handles, labels = axes.get_legend_handles_labels()
    entry = LETTER_POINTS * max(map(len, labels)) + HANDLE_POINTS
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=max(1, min(len(handles), int((72 * size.width - 50) // entry))),
        columnspacing=1.2,
        handlelength=handle_length,
        handletextpad=0.5,
    )


def draw_line(axes: Axes, line: series.Line) -> None:
    """Draws a line, with a band of its extremes if points were taken together."""
    if line.is_thinned:
        axes.fill_between(line.x, line.low, line.high, color=STAND_INS["c0"], alpha=0.18, linewidth=0)
    is_single = len(line.x) == 1
    axes.plot(line.x, line.y, color=STAND_INS["c0"], linewidth=2, marker="o" if is_single else None)


def mark_moves(axes: Axes, moves: Sequence[tuple[int, float]]) -> None:
    """Draws a dashed line at each move's end, with the move's number if the moves are few."""
    if len(moves) > MANY_MOVES:
        return
    alpha = 1.0 if len(moves) <= FEW_MOVES else 0.4
    for number, x in moves:
        axes.axvline(x, color=STAND_INS["accent"], linewidth=1.2, linestyle=(0, (4, 3)), alpha=alpha)
        if len(moves) <= FEW_MOVES:
            axes.annotate(
                f"move {number}",
                (x, 1),
                xycoords=("data", "axes fraction"),
                xytext=(4, -3),
                va="top",
                textcoords="offset points",
                fontsize=9.5,
                color=STAND_INS["ink-2"],
            )
