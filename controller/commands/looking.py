"""What the commands tell: the views and logs of `centavo optimize`, and the commands `report` and `watch`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from rich.console import Console

from controller.assembly import Workshop
from controller.clock import Clock
from controller.errors import JournalError, StoppedError
from controller.record.events import Reporter
from controller.record.journal import FILE_NAME as JOURNAL_NAME
from controller.record.journal import Journal
from controller.record.live import LiveReporter, shown
from controller.record.logs import FILE_NAME as LOG_NAME
from controller.record.logs import LogFormat, LogReporter, Reporters
from controller.record.metrics import MetricsReporter, parse_address, serve
from controller.record.report import FILE_NAME, make_report, write_report
from controller.record.runs import latest_run
from controller.record.setup import keep_setup
from controller.record.table import print_summary
from controller.record.view import render
from controller.record.watch import Watcher, line_of

Add = Callable[..., argparse.ArgumentParser]
LOOK_EVERY_S = 1.0


def add_telling_options(parser: argparse.ArgumentParser) -> None:
    """How the main job tells of itself."""
    parser.add_argument("--plain", action="store_true", help="lines instead of the live view, on a terminal too")
    parser.add_argument(
        "--log-format",
        choices=[f.value for f in LogFormat],
        default=LogFormat.TEXT.value,
        help="of the lines, and of runs/RUN/centavo.log (default: text)",
    )
    parser.add_argument(
        "--metrics",
        metavar="[ADDRESS:]PORT",
        help="serve /metrics for Prometheus there (default: not at all; without an address: on loopback)",
    )


def add_looking(add: Add) -> None:
    """The commands `report` and `watch`; `add` makes a command."""
    parser = add("report", report, "what a run measured, moved and saved, as a page; or two runs side by side")
    parser.add_argument("run", nargs="*", help="a run's folder under runs/ (default: the latest), or two to compare")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser = add("picture", picture, "a run's cost and fleet over time as an SVG, such as the README's")
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--out", type=Path, default=Path("docs/run.svg"), help="the file (default: docs/run.svg)")
    parser = add("watch", watch, "the live view of a run that goes on elsewhere, or how an ended one stood")
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--once", action="store_true", help="show it once, and end")


@contextmanager
def telling(workshop: Workshop, journal: Journal, options: argparse.Namespace) -> Iterator[None]:
    """While inside, the workshop's reporter is what the options ask for: a live view on a terminal, or lines; always a
    log in the run's folder; and metrics."""
    info, log_format = journal.info(), LogFormat(options.log_format)
    address = parse_address(options.metrics) if options.metrics else None
    keep_setup(
        workshop.environment,
        journal.directory,
        {
            "ENV": info.environment,
            "POLICY": info.policy,
            "INTERVAL": options.interval,
            "DEADLINE": options.deadline,
            "BUDGET": options.budget,
        },
    )
    reporters: list[Reporter] = []
    with ExitStack() as stack:
        if address is not None:
            metrics = MetricsReporter(info, workshop.usd_per_hour)
            print(f"Metrics: http://{address[0]}:{serve(metrics, address[1], address[0])}/metrics", flush=True)
            reporters.append(metrics)
        file = stack.enter_context((journal.directory / LOG_NAME).open("a", encoding="utf-8"))
        reporters.append(LogReporter(info.run, log_format, file))
        if sys.stdout.isatty() and not options.plain and log_format is LogFormat.TEXT:
            watcher = Watcher(journal, workshop.usd_per_hour)
            watcher.look(workshop.clock.now())
            stack.enter_context(shown(watcher.view, now=workshop.clock.now))
            reporters.append(LiveReporter(watcher))
        else:
            reporters.append(LogReporter(info.run, log_format))
        workshop.reporter = Reporters(reporters)
        yield


def write_reports(workshop: Workshop, journal: Journal) -> tuple[dict[str, Any], Path]:
    """Makes report.json and report.html anew; the report, and the page's path."""
    # matplotlib takes a second to import, which commands that draw nothing need not wait for
    from controller.record.html.page import write_page  # noqa: PLC0415

    made = write_report(journal, workshop.usd_per_hour, workshop.clock.now())
    return made, write_page(journal, made)


def print_reports(workshop: Workshop, journal: Journal) -> Path:
    """The summary, and where the reports are; the page's path."""
    made, page = write_reports(workshop, journal)
    print_summary(made)
    print(f"Report: {page}\n        {journal.directory / FILE_NAME}")
    return page


def report(workshop: Workshop, options: argparse.Namespace) -> int:
    """A run's report, made anew from its journal; or two runs compared."""
    journals = [_run(workshop, name) for name in options.run] or [_latest(workshop)]
    if options.json:
        made = [make_report(journal, workshop.usd_per_hour, workshop.clock.now()) for journal in journals]
        print(json.dumps(made if len(made) > 1 else made[0], indent=2))
    elif len(journals) == 1:
        _open(print_reports(workshop, journals[0]))
    elif len(journals) == 2:
        _open(_compare(workshop, journals[0], journals[1]))
    else:
        raise JournalError(f"{len(journals)} runs can't be compared.", "Name one run, or two.")
    return 0


def watch(workshop: Workshop, options: argparse.Namespace) -> int:
    """Shows a run until it ends or a person stops looking."""
    journal = _run(workshop, options.run) if options.run else _latest(workshop)
    try:
        follow(journal, workshop.usd_per_hour, workshop.clock, once=options.once)
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


def picture(workshop: Workshop, options: argparse.Namespace) -> int:
    """Draws a run as a picture of its own."""
    from controller.record.html.picture import write  # noqa: PLC0415
    from controller.record.html.run import read_run  # noqa: PLC0415

    journal = _run(workshop, options.run) if options.run else _latest(workshop)
    file = workshop.environment.path(options.out)
    write(read_run(journal, make_report(journal, workshop.usd_per_hour, workshop.clock.now())), file)
    print(f"Picture: {file}")
    return 0


def _compare(workshop: Workshop, first: Journal, second: Journal) -> Path:
    from controller.record.html.compare import write_comparison  # noqa: PLC0415

    page = write_comparison(
        [(journal, make_report(journal, workshop.usd_per_hour, workshop.clock.now())) for journal in (first, second)]
    )
    print(f"Comparison: {page}")
    return page


def _open(page: Path) -> None:
    """In the browser, where a person sits before a desktop."""
    has_desktop = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform == "darwin"
    if has_desktop and sys.stdout.isatty():
        webbrowser.open(page.resolve().as_uri())


def _latest(workshop: Workshop) -> Journal:
    journal = latest_run(workshop.environment.runs_directory)
    if journal is None:
        raise JournalError("There is no run yet.", "`centavo optimize` starts one.")
    return journal


def _run(workshop: Workshop, name: str) -> Journal:
    directory = workshop.environment.runs_directory / name
    if not (directory / JOURNAL_NAME).is_file():
        raise JournalError(
            f"There is no run {name!r} under {workshop.environment.runs_directory}.", "`ls runs` lists them."
        )
    return Journal(directory.resolve())
