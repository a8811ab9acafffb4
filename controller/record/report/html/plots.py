"""The report's five plots, each drawn twice: wide for screens and paper, narrow for phones, letters equally large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from controller.record.live.view import short
from controller.record.report.html import series
from controller.record.report.html.run import Run
from controller.record.report.html.svg import STAND_INS, STYLE, colour, to_svg

PER_TOKENS = 1000
FEW_MOVES = 12
"""Up to so many moves are marked with their numbers."""
MANY_MOVES = 200
"""More moves than this would hide what they mark."""
FEW_FLEETS = 6
"""Up to so many fleets are named in the plot; the table beneath it names all."""
AXES_SHARE = 0.75
"""Of a figure's width and height, what its axes take, roughly."""
LINE_POINTS = 12
LETTER_POINTS = 6.2
HANDLE_POINTS = 30


@dataclass(frozen=True)
class Plot:
    """A figure of the page; `wide` and `narrow` are SVG, both None where there is nothing to show."""

    name: str
    title: str
    caption: str
    wide: str | None
    narrow: str | None


@dataclass(frozen=True)
class Size:
    """Of a figure, in inches; SVG has 72 units to the inch."""

    width: float
    height: float
    is_narrow: bool


WIDE, NARROW = Size(10.4, 3.5, False), Size(5.0, 3.6, True)
Draw = Callable[[Run, Size], "Figure | None"]


def all_plots(run: Run) -> list[Plot]:
    """Every plot of the page."""
    return [
        _plot(
            run,
            "fleet",
            "Fleet over time",
            "Nodes that run, by flavor. While a move grows the fleet and has not shrunk it yet, both fleets run.",
            fleet_over_time,
        ),
        _plot(
            run,
            "cost",
            "Dollars per million tokens over time",
            "Measured: the price an hour of all that runs, head included, over the target tokens that the training "
            "gets through. While a move has grown the fleet and not shrunk it yet, both fleets are paid for. "
            "Dashed: moves, where they ended.",
            cost_over_time,
        ),
        _plot(
            run,
            "compute",
            "Compute time per flavor",
            "A rank's own forward and backward, before the allreduce. Box: the middle half; line: median; whiskers: "
            "5\N{NO-BREAK SPACE}% and 95\N{NO-BREAK SPACE}%. A fast rank gets a larger share of the batch, so that "
            "flavors differ in the time per token and not in the time per step.",
            compute_times,
        ),
        _plot(
            run,
            "loss",
            "Loss over steps",
            "Training loss in nats per target token; dashed: moves, at the step they ended.",
            loss_over_steps,
        ),
        _plot(
            run,
            "scaling",
            "Iteration time against fleet size",
            "Dots: each fleet that trained, median and middle half "
            "of its observations. Rings: what the fitted model says of the same fleet. Line: the model for one flavor "
            "alone.",
            iteration_times,
        ),
    ]


def _plot(run: Run, name: str, title: str, caption: str, draw: Draw) -> Plot:
    with mpl.rc_context(STYLE):
        drawn = [
            to_svg(figure, f"{name}-{size.is_narrow:d}", f"{title}. {caption}")
            for size in (WIDE, NARROW)
            if (figure := draw(run, size)) is not None
        ]
    return Plot(name, title, caption, *(drawn or (None, None)))


def fleet_over_time(run: Run, size: Size) -> Figure | None:
    """Nodes by flavor, stacked."""
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
    """A stack of areas with a hairline of the page's colour between them. A flavor that never ran keeps its colour and
    is left out of the legend, as matplotlib does with names that begin with an underscore."""
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


def cost_over_time(run: Run, size: Size) -> Figure | None:
    """Measured dollars per million tokens."""
    line = series.cost_over_time(run)
    if not line.x:
        return None
    figure, axes = one_axes(size)
    draw_cost(axes, line)
    _mark(
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
    """A line from zero, so that a saving looks as large as it is."""
    _draw_line(axes, line)
    axes.set_ylim(0, 1.15 * sorted(line.high)[int(0.99 * (len(line.high) - 1))])


def compute_times(run: Run, size: Size) -> Figure | None:
    """Boxes by flavor: time of a step, and time per thousand tokens."""
    per_step, per_tokens = series.compute_spreads(run), series.compute_spreads(run, PER_TOKENS)
    if not per_step:
        return None
    colours = _colours(run)
    height = 0.36 * len(per_step) + 0.85
    if size.is_narrow:
        figure = Figure((size.width, 2 * height), layout="constrained")
        left, right = figure.subplots(2, 1)
    else:
        figure = Figure((size.width, height), layout="constrained")
        left, right = figure.subplots(1, 2)
    for axes, spreads, label in (
        (left, per_step, "milliseconds a step"),
        (right, per_tokens, f"milliseconds per {PER_TOKENS:,} target tokens"),
    ):
        _boxes(axes, spreads, colours)
        axes.set_xlabel(label)
    return figure


def loss_over_steps(run: Run, size: Size) -> Figure | None:
    """The training loss, moves marked."""
    line = series.loss_over_steps(run)
    if not line.x:
        return None
    figure, axes = one_axes(size)
    _draw_line(axes, line)
    _mark(axes, series.move_steps(run))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("step")
    axes.set_ylabel("loss, nats per token")
    return figure


def iteration_times(run: Run, size: Size) -> Figure | None:
    """Time of a step by number of nodes, measured and modelled."""
    measured = series.step_times(run)
    flavor, curve = series.model_curve(run)
    if not measured:
        return None
    figure, axes = one_axes(size)
    if curve:
        sizes = [step.fleet.size for step in measured]
        shown = [point for point in curve if min(sizes) / 2 <= point[0] <= 2 * max(sizes)] or curve
        axes.plot(
            [n for n, _ in shown],
            [1e3 * t for _, t in shown],
            color=STAND_INS["ink-2"],
            linewidth=1.5,
            label=f"model, {flavor} alone",
        )
    for step in measured:
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
    axes.plot([], [], "o", color=STAND_INS["c0"], label="measured")
    axes.plot([], [], "o", markersize=10, fillstyle="none", color=STAND_INS["accent"], label="model, same fleet")
    highest = 2e3 * max(step.q3 for step in measured)
    axes.set_ylim(
        0, min(axes.get_ylim()[1], highest)
    )  # the curve of one node alone would flatten all that was measured
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("nodes")
    axes.set_ylabel("milliseconds a step")
    _name_fleets(axes, measured, size)
    legend(axes, size)
    return figure


def _name_fleets(axes: Axes, measured: Sequence[series.StepTime], size: Size) -> None:
    """A name beside each dot: inwards of it, away from the curve, which falls, and above the names already there."""
    if len(measured) > FEW_FLEETS:
        return
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    points_per_node = AXES_SHARE * 72 * size.width / (right - left)
    points_per_ms = AXES_SHARE * 72 * size.height / top
    placed: list[tuple[float, float, float]] = []
    for step in sorted(measured, key=lambda step: step.median):
        text, is_left = short(step.fleet), step.fleet.size <= (left + right) / 2
        x, y = step.fleet.size * points_per_node, 1e3 * step.median * points_per_ms
        width = LETTER_POINTS * len(text)
        start = x + 9 if is_left else x - 9 - width
        bottom = y + 5 if is_left else y - 16
        for other_start, other_end, other_bottom in sorted(placed, key=lambda place: place[2]):
            if start < other_end and other_start < start + width and abs(bottom - other_bottom) < LINE_POINTS:
                bottom = other_bottom + LINE_POINTS
        placed.append((start, start + width, bottom))
        name = axes.annotate(
            text,
            (step.fleet.size, 1e3 * step.median),
            xytext=(9 if is_left else -9, bottom - y),
            ha="left" if is_left else "right",
            va="bottom",
            fontsize=9.5,
            textcoords="offset points",
            color=STAND_INS["ink-2"],
        )
        name.set_in_layout(False)


def _colours(run: Run) -> dict[str, str]:
    return {flavor: colour(i) for i, flavor in enumerate(series.coloured_flavors(run))}


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


def _draw_line(axes: Axes, line: series.Line) -> None:
    if line.is_thinned:
        axes.fill_between(line.x, line.low, line.high, color=STAND_INS["c0"], alpha=0.18, linewidth=0)
    is_single = len(line.x) == 1
    axes.plot(line.x, line.y, color=STAND_INS["c0"], linewidth=2, marker="o" if is_single else None)


def _mark(axes: Axes, moves: Sequence[tuple[int, float]]) -> None:
    """A dashed line at each move's end, with its number where they are few."""
    if len(moves) > MANY_MOVES:
        return
    for number, x in moves:
        axes.axvline(
            x,
            color=STAND_INS["accent"],
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            alpha=1.0 if len(moves) <= FEW_MOVES else 0.4,
        )
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


def one_axes(size: Size) -> tuple[Figure, Axes]:
    """A figure with one pair of axes."""
    figure = Figure((size.width, size.height), layout="constrained")
    return figure, figure.subplots()


def legend(axes: Axes, size: Size, handle_length: float = 1.2) -> None:
    """Above the axes, in as many columns as there is room for."""
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
