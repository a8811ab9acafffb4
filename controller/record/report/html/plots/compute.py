"""Compute time per flavor."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from controller.record.report.html import series
from controller.record.report.html.plots.figure import Size
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STAND_INS, colour

PER_TOKENS = 1000


def compute_times(run: Run, size: Size) -> Figure | None:
    """Draws boxes by flavor: time of a step, and time per thousand tokens."""
    per_step, per_tokens = series.compute_spreads(run), series.compute_spreads(run, PER_TOKENS)
    if not per_step:
        return None
    height = 0.36 * len(per_step) + 0.85
    figure = Figure((size.width, 2 * height if size.is_narrow else height), layout="constrained")
    left, right = figure.subplots(2, 1) if size.is_narrow else figure.subplots(1, 2)
    colours = {flavor: colour(i) for i, flavor in enumerate(series.coloured_flavors(run))}
    for axes, spreads, label in (
        (left, per_step, "milliseconds a step"),
        (right, per_tokens, f"milliseconds per {PER_TOKENS:,} target tokens"),
    ):
        _boxes(axes, spreads, colours)
        axes.set_xlabel(label)
    return figure


def _boxes(axes: Axes, spreads: Sequence[series.Spread], colours: dict[str, str]) -> None:
    boxes = [
        {"label": s.flavor, "whislo": s.p5, "q1": s.q1, "med": s.median, "q3": s.q3, "whishi": s.p95, "fliers": []}
        for s in reversed(spreads)
    ]
    drawn = axes.bxp(boxes, vert=False, patch_artist=True, showfliers=False, widths=0.55)
    for box, spread in zip(drawn["boxes"], reversed(spreads), strict=True):
        box.set(facecolor=colours.get(spread.flavor, colour(7)), edgecolor="none")
    for part in ("whiskers", "caps"):
        for line in drawn[part]:
            line.set(color=STAND_INS["ink-2"], linewidth=1.2)
    for line in drawn["medians"]:
        line.set(color=STAND_INS["ink"], linewidth=2)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")
