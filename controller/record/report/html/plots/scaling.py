"""Iteration time against fleet size."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from controller.record.report.html import series
from controller.record.report.html.plots.figure import LETTER_POINTS, Size, legend, one_axes
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STAND_INS
from controller.words.fleets import short

FEW_FLEETS = 6
"""Up to so many fleets are named in the plot. The table beneath it names all."""
AXES_SHARE = 0.75
"""The share of a figure's width and height that its axes take, roughly."""
LINE_POINTS = 12


def iteration_times(run: Run, size: Size) -> Figure | None:
    """Draws the time of a step by number of nodes, measured and modelled."""
    measured = series.step_times(run)
    if not measured:
        return None
    figure, axes = one_axes(size)
    _draw_model(axes, run, [step.fleet.size for step in measured])
    for step in measured:
        _draw_fleet(axes, step)
    axes.plot([], [], "o", color=STAND_INS["c0"], label="measured")
    axes.plot([], [], "o", markersize=10, fillstyle="none", color=STAND_INS["accent"], label="model, same fleet")
    # The curve of one node alone would flatten all that was measured.
    axes.set_ylim(0, min(axes.get_ylim()[1], 2e3 * max(step.q3 for step in measured)))
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("nodes")
    axes.set_ylabel("milliseconds a step")
    if len(measured) <= FEW_FLEETS:
        _name_fleets(axes, measured, size)
    legend(axes, size)
    return figure


def _draw_model(axes: Axes, run: Run, sizes: Sequence[int]) -> None:
    """Draws the model's curve for one flavor alone, around the sizes that were measured."""
    flavor, curve = series.model_curve(run)
    if not curve:
        return
    shown = [point for point in curve if min(sizes) / 2 <= point[0] <= 2 * max(sizes)] or curve
    nodes, times_ms = [n for n, _ in shown], [1e3 * time_s for _, time_s in shown]
    axes.plot(nodes, times_ms, color=STAND_INS["ink-2"], linewidth=1.5, label=f"model, {flavor} alone")


def _draw_fleet(axes: Axes, step: series.StepTime) -> None:
    """Draws a dot with its middle half for what was measured, and a ring for the model."""
    x, y = step.fleet.size, 1e3 * step.median
    axes.errorbar(
        [x],
        [y],
        yerr=[[y - 1e3 * step.q1], [1e3 * step.q3 - y]],
        fmt="o",
        markersize=7,
        elinewidth=1.5,
        color=STAND_INS["c0"],
        markeredgecolor=STAND_INS["surface"],
    )
    if step.modelled is not None:
        axes.plot([x], [1e3 * step.modelled], "o", markersize=12, fillstyle="none", color=STAND_INS["accent"])


def _name_fleets(axes: Axes, measured: Sequence[series.StepTime], size: Size) -> None:
    """Writes a name beside each dot: away from the curve, which falls, and above the names already there."""
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    points_per_node = AXES_SHARE * 72 * size.width / (right - left)
    points_per_ms = AXES_SHARE * 72 * size.height / top
    placed: list[tuple[float, float, float]] = []
    for step in sorted(measured, key=lambda step: step.median):
        text, is_left = short(step.fleet), step.fleet.size <= (left + right) / 2
        x, y = step.fleet.size * points_per_node, 1e3 * step.median * points_per_ms
        width = LETTER_POINTS * len(text)
        start = x + 9 if is_left else x - 9 - width
        bottom = _free_bottom(placed, start, width, y + 5 if is_left else y - 16)
        placed.append((start, start + width, bottom))
        _annotate(axes, text, step, bottom - y, is_left)


def _free_bottom(placed: Sequence[tuple[float, float, float]], start: float, width: float, bottom: float) -> float:
    """Returns the lowest place from `bottom` up that no name takes. Names are placed as (start, end, bottom)."""
    for other_start, other_end, other_bottom in sorted(placed, key=lambda place: place[2]):
        if start < other_end and other_start < start + width and abs(bottom - other_bottom) < LINE_POINTS:
            bottom = other_bottom + LINE_POINTS
    return bottom


def _annotate(axes: Axes, text: str, step: series.StepTime, above: float, is_left: bool) -> None:
    name = axes.annotate(
        text,
        (step.fleet.size, 1e3 * step.median),
        xytext=(9 if is_left else -9, above),
        ha="left" if is_left else "right",
        va="bottom",
        fontsize=9.5,
        textcoords="offset points",
        color=STAND_INS["ink-2"],
    )
    name.set_in_layout(False)
