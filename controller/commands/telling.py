"""How the main job tells of itself: views, logs and metrics while it goes on, the reports at its end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from controller.commands.context import Context
from controller.record.export.metrics import MetricsReporter, parse_address, serve
from controller.record.journal.journal import Journal
from controller.record.journal.setup import keep_setup
from controller.record.live.events import Reporter
from controller.record.live.live import LiveReporter, shown
from controller.record.live.logs import FILE_NAME as LOG_NAME
from controller.record.live.logs import LogFormat, LogReporter, Reporters
from controller.record.live.watch import Watcher
from controller.record.report.report import FILE_NAME, write_report
from controller.record.report.table import print_summary


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


def check_telling_options(options: argparse.Namespace) -> None:
    """Raises ConfigError when the metrics can't have the address that the options name."""
    if options.metrics:
        parse_address(options.metrics)


@contextmanager
def telling(context: Context, journal: Journal, options: argparse.Namespace) -> Iterator[None]:
    """While inside, the context's reporter is what the options ask for: a live view on a terminal, or lines; always a
    log in the run's folder; and metrics."""
    info, log_format = journal.info(), LogFormat(options.log_format)
    address = parse_address(options.metrics) if options.metrics else None
    keep_setup(
        context.environment,
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
            metrics = MetricsReporter(info, context.usd_per_hour)
            print(f"Metrics: http://{address[0]}:{serve(metrics, address[1], address[0])}/metrics", flush=True)
            reporters.append(metrics)
        file = stack.enter_context((journal.directory / LOG_NAME).open("a", encoding="utf-8"))
        reporters.append(LogReporter(info.run, log_format, file))
        if sys.stdout.isatty() and not options.plain and log_format is LogFormat.TEXT:
            watcher = Watcher(journal, context.usd_per_hour)
            watcher.look(context.clock.now())
            stack.enter_context(shown(watcher.view, now=context.clock.now))
            reporters.append(LiveReporter(watcher))
        else:
            reporters.append(LogReporter(info.run, log_format))
        context.reporter = Reporters(reporters)
        yield


def write_reports(context: Context, journal: Journal) -> tuple[dict[str, Any], Path]:
    """Makes report.json and report.html anew; the report, and the page's path."""
    # matplotlib takes a second to import, which commands that draw nothing need not wait for
    from controller.record.report.html.page import write_page  # noqa: PLC0415

    made = write_report(journal, context.usd_per_hour, context.clock.now())
    return made, write_page(journal, made)


def print_reports(context: Context, journal: Journal) -> Path:
    """The summary, and where the reports are; the page's path."""
    made, page = write_reports(context, journal)
    print_summary(made)
    print(f"Report: {page}\n        {journal.directory / FILE_NAME}")
    return page
