"""Two runs side by side: numbers with their differences, lines over each other, and what was set up differently."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from controller.edges.files import write_whole
from controller.record.journal import Journal
from controller.record.report.html import series
from controller.record.report.html.page import render
from controller.record.report.html.plots.figure import NARROW, WIDE, Plot, Size, legend, one_axes
from controller.record.report.html.run import Run, read_run
from controller.record.report.html.svg import STYLE, colour, to_svg
from controller.words.numbers import cell

ROWS: tuple[tuple[str, str, int], ...] = (
    ("spent in all, $", "cost.spent_usd", 4),
    ("training alone, $", "alternatives.training_usd", 4),
    ("training alone, $/million tokens", "alternatives.usd_per_million_tokens", 4),
    ("first fleet, $/million tokens", "cost.usd_per_million_tokens.initial", 4),
    ("last fleet, $/million tokens", "cost.usd_per_million_tokens.final", 4),
    ("saved per token, %", "cost.saved_percent", 1),
    ("training time, s", "alternatives.training_s", 0),
    ("steps", "training.steps", 0),
    ("tokens", "training.tokens", 0),
    ("final loss", "training.final_loss", 3),
    ("BLEU", "training.bleu", 1),
    ("steps lost", "training.steps_lost", 0),
    ("restarts", "training.restarts", 0),
)
MOST_DIFFERENCES = 400
PRICE = "dollars an hour, head included"
"""The axis of a price, which stays the same until another fleet runs."""


def write_comparison(runs: Sequence[tuple[Journal, Mapping[str, Any]]]) -> Path:
    """Writes the page into the second run's folder, and returns its path. Each run comes with its report."""
    first, second = (read_run(journal, report) for journal, report in runs)
    path = second.directory / f"compared-with-{first.report['run']}.html"
    write_whole(path, make_comparison(first, second))
    return path


def make_comparison(first: Run, second: Run) -> str:
    """Returns the whole page."""
    runs = (first, second)
    return render(
        "two_runs.html.j2",
        title="Two runs",
        runs=runs,
        answer=answer(runs),
        rows=[_row(runs, *row) for row in ROWS],
        plots=_plots(runs),
        flavors=_flavors(runs),
        differences=list(differences(first.setup, second.setup)),
    )


def answer(runs: Sequence[Run]) -> dict[str, float] | None:
    """Returns what a million tokens cost in each run, and by how many percent they cost more in the second.

    Runs of different lengths can be compared by it. Returns None if one of the costs is not known.
    """
    first, second = (run.report["alternatives"]["usd_per_million_tokens"] for run in runs)
    if not first or second is None:
        return None
    return {"first": first, "second": second, "percent": 100 * (second / first - 1)}


def lookup(report: Mapping[str, Any], path: str) -> Any:
    """Returns the value at a dotted path; None if the report has none."""
    value: Any = report
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterable[str]:
    """Returns the lines in which two set-ups differ, as a unified diff."""
    lines = list(difflib.unified_diff(_lines(first), _lines(second), "first", "second", lineterm="", n=0))
    return lines[:MOST_DIFFERENCES]


def _lines(setup: Mapping[str, Any]) -> list[str]:
    lines = [f"commit: {setup.get('commit')}"]
    for part in ("command", "versions"):
        lines += [f"{part} {name}: {value}" for name, value in sorted(setup.get(part, {}).items())]
    for name, text in sorted(setup.get("files", {}).items()):
        lines += [f"{name}: {line}" for line in text.splitlines()]
    return lines


def _row(runs: Sequence[Run], name: str, path: str, digits: int) -> dict[str, str]:
    first, second = (lookup(run.report, path) for run in runs)
    change = "" if not first or second is None or path.endswith("_percent") else f"{100 * (second / first - 1):+.1f}%"
    return {
        "name": name,
        "path": path,
        "first": cell(first, digits),
        "second": cell(second, digits),
        "change": change,
    }


def _flavors(runs: Sequence[Run]) -> list[dict[str, Any]]:
    names = sorted({flavor for run in runs for flavor in run.report["flavors"]})
    return [{"name": name, "values": [run.report["flavors"].get(name, {}) for run in runs]} for name in names]


def _plots(runs: Sequence[Run]) -> list[Plot]:
    wanted = (
        (
            "cost",
            "Dollars per million tokens over time",
            "minutes since the start",
            "$ per million tokens",
            [series.cost_over_time(run) for run in runs],
        ),
        (
            "fleet",
            "Price of the cluster over time",
            "minutes since the start",
            PRICE,
            [series.usd_per_hour_over_time(run) for run in runs],
        ),
        ("loss", "Loss over steps", "step", "loss, nats per token", [series.loss_over_steps(run) for run in runs]),
    )
    return [_plot(name, title, x, y, lines, runs) for name, title, x, y, lines in wanted]


def _plot(name: str, title: str, x: str, y: str, lines: Sequence[series.Line], runs: Sequence[Run]) -> Plot:
    if not any(line.x for line in lines):
        return Plot(name, title, "", None, None)
    with mpl.rc_context(STYLE):
        wide, narrow = (
            to_svg(_draw(size, x, y, lines, runs), f"compare-{name}-{size.is_narrow:d}", title)
            for size in (WIDE, NARROW)
        )
    return Plot(name, title, "", wide, narrow)


def _draw(size: Size, x: str, y: str, lines: Sequence[series.Line], runs: Sequence[Run]) -> Figure:
    figure, axes = one_axes(size)
    for index, (line, run, style) in enumerate(zip(lines, runs, ("-", (0, (5, 2))), strict=True)):
        name = f"{('first', 'second')[index]}, {run.report['run']}"
        drawn = "steps-post" if y == PRICE else "default"
        axes.plot(line.x, line.y, color=colour(index), linewidth=2, linestyle=style, drawstyle=drawn, label=name)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if _is_money(y):
        axes.set_ylim(bottom=0)
    legend(axes, size, handle_length=2.2)
    return figure


def _is_money(label: str) -> bool:
    """Returns whether an axis is of money, which is drawn from zero so that a saving looks as large as it is."""
    return "$" in label or "dollars" in label
