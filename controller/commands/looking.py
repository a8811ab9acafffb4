"""The commands that look and change nothing: status, facts, explain, report, picture, watch."""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from rich.console import Console

from controller.commands.context import Context
from controller.commands.explaining import add_explain_options, explain
from controller.commands.journals import run_or_latest
from controller.commands.telling import print_reports
from controller.domain import Fleet, Observation
from controller.domain.errors import JournalError, StoppedError
from controller.domain.times import iso
from controller.edges.clock import Clock
from controller.observe.progress import read_progress
from controller.record.journal import codec
from controller.record.journal.journal import Journal, Stage
from controller.record.live.events import describe
from controller.record.live.live import shown
from controller.record.live.view import render
from controller.record.live.watch import Watcher, line_of
from controller.record.report.report import make_report
from controller.record.report.table import facts_table

Add = Callable[..., argparse.ArgumentParser]
LOOK_EVERY_S = 1.0


def add_looking(add: Add) -> None:
    """These commands; `add` makes a command."""
    for name, function, purpose in (
        ("status", status, "the fleet, the training and the costs at a glance"),
        ("facts", facts, "what every node says of itself"),
    ):
        add(name, function, purpose).add_argument("--json", action="store_true", help="as JSON")
    add_explain_options(add("explain", explain, "a decision and its evidence: the last one, or any of a run"))
    parser = add("report", report, "what a run measured, moved and saved, as a page; or two runs side by side")
    parser.add_argument("run", nargs="*", help="a run's folder under runs/ (default: the latest), or two to compare")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser = add("picture", picture, "a run's cost and fleet over time as an SVG, such as the README's")
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--out", type=Path, default=Path("docs/run.svg"), help="the file (default: docs/run.svg)")
    parser = add("watch", watch, "the live view of a run that goes on elsewhere, or how an ended one stood")
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--once", action="store_true", help="show it once, and end")


def status(context: Context, options: argparse.Namespace) -> int:
    """Fleet, training and costs."""
    journal = run_or_latest(context)
    terraform = context.terraform()
    is_up = terraform.outputs() is not None
    observation = context.cluster(journal).observer.look() if is_up and journal.stage() is not Stage.ENDED else None
    document = _status(context, journal, observation, is_up)
    if options.json:
        print(json.dumps(document, indent=2))
        return 0
    for name, value in document.items():
        if value is None and name in ("deadline_at", "budget_usd"):
            continue
        print(f"{name.replace('_', ' '):>22}  {_human(value)}")
    return 0


def _status(context: Context, journal: Journal, observation: Observation | None, is_up: bool) -> dict[str, Any]:
    info, now = journal.info(), context.clock.now()
    document: dict[str, Any] = {
        "environment": context.environment.name,
        "is_up": is_up,
        "run": info.run,
        "policy": info.policy,
        "stage": journal.stage().value,
        "status": journal.status(),
        "started_at": iso(info.started_at),
        "deadline_at": None if info.promises.deadline_at is None else iso(info.promises.deadline_at),
        "budget_usd": info.promises.budget_usd,
        "spent_usd": round(journal.spent_usd(journal.ended_at() or now), 6),
        "moves": [f"{move.source} -> {move.target}: {move.phase.value}" for move in journal.moves()],
    }
    if observation is not None:
        progress = read_progress(observation, info.started_at)
        document |= {
            "fleet": dict(observation.fleet),
            "usd_per_hour": observation.fleet.usd_per_hour(context.usd_per_hour),
            "step": progress.step if progress else None,
            "total_steps": progress.total_steps if progress else None,
            "summary": describe(observation, progress, document["spent_usd"]),
        }
    return document


def facts(context: Context, options: argparse.Namespace) -> int:
    """Every node's iteration fact, or why it is unknown."""
    observation = context.cluster(run_or_latest(context)).observer.look()
    if options.json:
        print(json.dumps(codec.plain(observation), indent=2))
    else:
        Console().print(facts_table(observation))
    return 0


def report(context: Context, options: argparse.Namespace) -> int:
    """A run's report, made anew from its journal; or two runs compared."""
    journals = [run_or_latest(context, name) for name in options.run or [None]]
    if options.json:
        made = [make_report(journal, context.usd_per_hour, context.clock.now()) for journal in journals]
        print(json.dumps(made if len(made) > 1 else made[0], indent=2))
    elif len(journals) == 1:
        _open(print_reports(context, journals[0]))
    elif len(journals) == 2:
        _open(_compare(context, journals[0], journals[1]))
    else:
        raise JournalError(f"{len(journals)} runs can't be compared.", "Name one run, or two.")
    return 0


def watch(context: Context, options: argparse.Namespace) -> int:
    """Shows a run until it ends or a person stops looking."""
    journal = run_or_latest(context, options.run)
    try:
        follow(journal, context.usd_per_hour, context.clock, once=options.once)
    except StoppedError:
        print("The run goes on; only the looking has ended.")
    return 0


def follow(
    journal: Journal,
    usd_per_hour: Mapping[str, float],
    clock: Clock,
    console: Console | None = None,
    once: bool = False,
) -> None:
    """Shows the run until it has ended. Where the output is no terminal, lines are written. Raises StoppedError."""
    console = console or Console()
    watcher = Watcher(journal, usd_per_hour)
    goes_on = watcher.look(clock.now())
    if once or not goes_on:
        console.print(render(watcher.view, clock.now()))
    elif console.is_terminal:
        with shown(watcher.view, console, clock.now):
            while watcher.look(clock.now()):
                clock.sleep(LOOK_EVERY_S)
    else:
        _follow_in_lines(watcher, clock, console.file)


def _follow_in_lines(watcher: Watcher, clock: Clock, stream: IO[str]) -> None:
    """A line whenever there is something new."""
    said = ""
    while True:
        goes_on = watcher.look(clock.now())
        line = line_of(watcher.view)
        if line != said:
            print(line, file=stream, flush=True)
        if not goes_on:
            return
        said = line
        clock.sleep(LOOK_EVERY_S)


def picture(context: Context, options: argparse.Namespace) -> int:
    """Draws a run as a picture of its own."""
    from controller.record.report.html.picture import write  # noqa: PLC0415
    from controller.record.report.html.run import read_run  # noqa: PLC0415

    journal = run_or_latest(context, options.run)
    file = context.environment.path(options.out)
    write(read_run(journal, make_report(journal, context.usd_per_hour, context.clock.now())), file)
    print(f"Picture: {file}")
    return 0


def _compare(context: Context, first: Journal, second: Journal) -> Path:
    from controller.record.report.html.compare import write_comparison  # noqa: PLC0415

    page = write_comparison(
        [(journal, make_report(journal, context.usd_per_hour, context.clock.now())) for journal in (first, second)]
    )
    print(f"Comparison: {page}")
    return page


def _open(page: Path) -> None:
    """In the browser, where a person sits before a desktop."""
    has_desktop = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform == "darwin"
    if has_desktop and sys.stdout.isatty():
        webbrowser.open(page.resolve().as_uri())


def _human(value: Any) -> str:
    if isinstance(value, dict):
        return str(Fleet(value))
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    return "not known" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
