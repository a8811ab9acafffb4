"""Every plot of the report, with its title and caption."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib as mpl
from matplotlib.figure import Figure

from controller.record.report.html.plots.compute import compute_times
from controller.record.report.html.plots.cost import cost_over_time
from controller.record.report.html.plots.figure import NARROW, WIDE, Plot, Size
from controller.record.report.html.plots.fleet import fleet_over_time
from controller.record.report.html.plots.loss import loss_over_steps
from controller.record.report.html.plots.scaling import iteration_times
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STYLE, to_svg

Draw = Callable[[Run, Size], "Figure | None"]

PLOTS: tuple[tuple[str, str, str, Draw], ...] = (
    (
        "fleet",
        "Fleet over time",
        "Nodes that run, by flavor. While a move grows the fleet and has not shrunk it yet, both fleets run.",
        fleet_over_time,
    ),
    (
        "cost",
        "Dollars per million tokens over time",
        "Measured: the price an hour of all that runs, head included, over the target tokens that the training "
        "gets through. While a move has grown the fleet and not shrunk it yet, both fleets are paid for. "
        "Dashed: moves, where they ended.",
        cost_over_time,
    ),
    (
        "compute",
        "Compute time per flavor",
        "A rank's own forward and backward, before the allreduce. Box: the middle half; line: median; whiskers: "
        "5% and 95%. A fast rank gets a larger share of the batch, so that flavors differ in the time per token and "
        "not in the time per step.",
        compute_times,
    ),
    (
        "loss",
        "Loss over steps",
        "Training loss in nats per target token; dashed: moves, at the step they ended.",
        loss_over_steps,
    ),
    (
        "scaling",
        "Iteration time against fleet size",
        "Dots: each fleet that trained, median and middle half of its observations. Rings: what the fitted model says "
        "of the same fleet. Line: the model for one flavor alone.",
        iteration_times,
    ),
)
"""Name, title, caption and drawing function of each plot, in the order of the page."""


def every_plot(run: Run) -> list[Plot]:
    """Returns every plot of the page, wide and narrow."""
    return [_plot(run, *plot) for plot in PLOTS]


def _plot(run: Run, name: str, title: str, caption: str, draw: Draw) -> Plot:
    with mpl.rc_context(STYLE):
        drawn = [
            to_svg(figure, f"{name}-{size.is_narrow:d}", f"{title}. {caption}")
            for size in (WIDE, NARROW)
            if (figure := draw(run, size)) is not None
        ]
    return Plot(name, title, caption, *(drawn or (None, None)))
