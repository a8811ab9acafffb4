"""How the main job tells of itself: views, logs and metrics while it goes on, the reports at its end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from controller.assembly import Workshop
from controller.record.events import Reporter
from controller.record.journal import Journal
from controller.record.live import LiveReporter, shown
from controller.record.logs import FILE_NAME as LOG_NAME
from controller.record.logs import LogFormat, LogReporter, Reporters
from controller.record.metrics import MetricsReporter, parse_address, serve
from controller.record.report import FILE_NAME, write_report
from controller.record.setup import keep_setup
from controller.record.table import print_summary
from controller.record.watch import Watcher


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
