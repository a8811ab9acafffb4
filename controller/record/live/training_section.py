"""The training in the live view: how far it is, and how fast it goes."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from controller.record.journal.summary import Summary
from controller.record.live.run_view import RunView
from controller.words.numbers import cell, duration

BAR_WIDTH = 30


def training_section(view: RunView) -> RenderableType:
    """Returns the progress with its bar, the loss and the speed."""
    rule, seen = Rule("training", align="left", style="dim"), view.trained
    if seen is None or seen.step is None:
        return Group(rule, Text("no step has been seen yet", style="dim"))
    parts = [
        f"loss {cell(seen.loss, 3)}",
        f"{cell(seen.tokens_per_s)} tokens/s",
        f"{cell(seen.iteration_time_s, 3)} s a step",
    ]
    now = view.now
    if now is not None and view.status == "running":
        parts.append(f"{now.ranks} ranks train" + (f", {now.unknown} unknown" if now.unknown else ""))
    return Group(rule, _progress(view, seen, seen.step), Text(" · ".join(parts)))


def _progress(view: RunView, seen: Summary, step: int) -> RenderableType:
    bar = ProgressBar(
        total=seen.total_steps or 1, completed=step, width=BAR_WIDTH, complete_style="green", finished_style="green"
    )
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_row(
        bar,
        f"step {step:,} of {seen.total_steps:,}" if seen.total_steps else f"step {step:,}",
        f"· {duration(view.remaining_s)} to go" if view.remaining_s is not None and view.status == "running" else "",
    )
    return line
