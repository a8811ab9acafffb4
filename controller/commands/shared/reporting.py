"""Reporting while the main job runs: the live view, the logs and the metrics."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from controller.commands.context import Context
from controller.record.export.cloud_log import CloudLog
from controller.record.export.cloud_metrics import CloudMetrics
from controller.record.export.metrics import MetricsReporter, parse_address, serve
from controller.record.journal import Journal
from controller.record.live.live import LiveReporter, shown
from controller.record.live.log_file import LogFile
from controller.record.live.reporter import Reporter, Reporters
from controller.record.live.run_log import FILE_NAME as LOG_NAME
from controller.record.live.run_log import LogFormat, LogReporter
from controller.record.live.watcher import Watcher
from controller.record.run_setup import keep_setup


def add_reporting_options(parser: argparse.ArgumentParser) -> None:
    """Adds how the main job reports."""
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


def check_reporting_options(options: argparse.Namespace) -> None:
    """Raises ConfigError when the metrics can't have the address that the options name."""
    if options.metrics:
        parse_address(options.metrics)


@contextmanager
def reporting(context: Context, journal: Journal, options: argparse.Namespace) -> Iterator[None]:
    """Makes the context's reporter what the options ask for, until the job ends.

    There is a live view on a terminal, or else lines; always a log in the run's folder; and metrics if asked for.

    Raises:
        ConfigError: The metrics can't be served on the address that the options name.
    """
    address = parse_address(options.metrics) if options.metrics else None
    _keep_setup(context, journal, options)
    reporters: list[Reporter] = []
    with ExitStack() as stack:
        if address is not None:
            reporters.append(_served(context, journal, *address))
        file = stack.enter_context(LogFile(journal.directory / LOG_NAME))
        run, log_format = journal.info().run, LogFormat(options.log_format)
        reporters.append(LogReporter(run, log_format, file))
        trouble = LogReporter(run, log_format, file)
        if context.environment.settings.metrics.cloudwatch:
            reporters.append(_measured(context, journal, trouble, stack))
        stack.enter_context(_sent(context, journal, trouble))
        if sys.stdout.isatty() and not options.plain and log_format is LogFormat.TEXT:
            reporters.append(_live(context, journal, stack))
        else:
            reporters.append(LogReporter(run, log_format))
        context.reporter = Reporters(reporters)
        yield


def _keep_setup(context: Context, journal: Journal, options: argparse.Namespace) -> None:
    """Keeps what a person has asked for, by the names that `make optimize` takes."""
    info = journal.info()
    command = {
        "ENV": info.environment,
        "POLICY": info.policy,
        "INTERVAL": options.interval,
        "DEADLINE": options.deadline,
        "BUDGET": options.budget,
        "CONFIDENCE": options.confidence,
    }
    keep_setup(context.environment, journal.directory, command)


def _served(context: Context, journal: Journal, address: str, port: int) -> MetricsReporter:
    metrics = MetricsReporter(journal.info(), context.usd_per_hour)
    print(f"Metrics: http://{address}:{serve(metrics, port, address)}/metrics", flush=True)
    return metrics


def _measured(context: Context, journal: Journal, into: LogReporter, stack: ExitStack) -> MetricsReporter:
    """Returns a reporter whose metrics go to CloudWatch. What hinders it is noted in the log."""
    info, now = journal.info(), context.clock.now
    metrics = MetricsReporter(info, context.usd_per_hour)
    region, budget_usd = context.environment.settings.aws.region, info.constraints.budget_usd

    def cluster() -> str | None:
        outputs = context.known()
        return None if outputs is None else outputs.cluster

    def tell(message: str) -> None:
        into.note(now(), message)

    cloud = CloudMetrics(metrics.registry, region, cluster, budget_usd, now, tell)
    stack.enter_context(cloud.sent())
    return metrics


def _sent(context: Context, journal: Journal, into: LogReporter) -> AbstractContextManager[None]:
    """Returns the sending of the run's log to CloudWatch. What hinders it is noted in the log itself."""
    now = context.clock.now
    region, file = context.environment.settings.aws.region, journal.directory / LOG_NAME

    def group() -> str | None:
        outputs = context.known()
        return None if outputs is None else outputs.log_group

    def tell(message: str) -> None:
        into.note(now(), message)

    return CloudLog(journal.info().run, file, region, group, now, tell).sent()


def _live(context: Context, journal: Journal, stack: ExitStack) -> LiveReporter:
    watcher = Watcher(journal, context.usd_per_hour)
    watcher.look(context.clock.now())
    stack.enter_context(shown(watcher.view, now=context.clock.now))
    return LiveReporter(watcher)
