"""The README's picture: what a run's tokens cost over time, and the fleet that trained them, drawn from its journal."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from controller.domain import Move
from controller.domain.errors import JournalError
from controller.record.report.html import series
from controller.record.report.html.plots.cost import draw_cost
from controller.record.report.html.plots.fleet import draw_fleet
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STAND_INS, STYLE, to_svg, write_picture
from controller.words.fleets import brief

LIGHT = {"ink": "#1f2328", "ink-2": "#59636e", "grid": "#d1d9e0", "surface": "#ffffff", "accent": "#d03b3b",
         "c0": "#2a78d6", "c1": "#eb6834", "c2": "#1baf7a", "c3": "#eda100", "c4": "#e87ba4", "c5": "#008300",
         "c6": "#4a3aa7", "c7": "#8b8a85"}  # fmt: skip
DARK = {"ink": "#f0f6fc", "ink-2": "#9198a1", "grid": "#3d444d", "surface": "#0d1117", "accent": "#e66767",
        "c0": "#3987e5", "c1": "#d95926", "c2": "#199e70", "c3": "#c98500", "c4": "#d55181", "c5": "#008300",
        "c6": "#9085e9", "c7": "#8b8a85"}  # fmt: skip
"""GitHub's own page colours in light and in dark, with the report's palette."""


def write(run: Run, file: Path) -> None:
    """Writes the picture as SVG.

    Raises:
        JournalError: The run has measured nothing that the picture could show.
    """
    cost = series.cost_over_time(run)
    minutes, counts = series.fleet_over_time(run)
    if not cost.x:
        raise JournalError(f"Run {run.report['run']} has measured no cost, so there is no picture of it.",
                           "Name a run that has trained.")  # fmt: skip
    with mpl.rc_context(STYLE):
        figure = Figure((9.6, 4.4), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        draw_cost(above, cost)
        for move in run.moves:
            if move.ended_at is not None and move.outcome_reason is None:
                _mark(above, series.minutes_since(run, move.ended_at), move)
        draw_fleet(below, minutes, counts)
        above.set_ylabel("$ per million tokens")
        below.set_ylabel("nodes")
        below.set_xlabel("minutes since the start")
        below.legend(loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=8, columnspacing=1.2, handlelength=1.2)
        svg = to_svg(figure, "picture", _label(run))
    write_picture(svg, file, LIGHT, DARK)


def _mark(axes: mpl.axes.Axes, minute: float, move: Move) -> None:
    axes.axvline(minute, color=STAND_INS["accent"], linewidth=1.2, linestyle=(0, (4, 3)))
    axes.annotate(f"moved to {brief(move.target)}", (minute, 1), xycoords=("data", "axes fraction"), xytext=(5, -4),
                  va="top", textcoords="offset points", color=STAND_INS["ink-2"])  # fmt: skip


def _label(run: Run) -> str:
    cost = run.report["cost"]["usd_per_million_tokens"]
    return f"Run {run.report['run']}: from {cost['initial']} to {cost['final']} dollars per million tokens"
