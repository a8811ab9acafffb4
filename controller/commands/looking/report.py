"""`centavo report`: what a run measured, moved and saved, as a page; or two runs side by side."""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser
from pathlib import Path

from rich.console import Console

from controller.commands.context import Context
from controller.commands.shared.chosen_run import add_remote_option, choose
from controller.commands.shared.command import Command
from controller.commands.shared.run_report import print_reports
from controller.domain.errors import JournalError
from controller.edges.account.spending import AwsSpending
from controller.edges.aws import CLUSTER_TAG
from controller.owning.remote import REPORTED
from controller.record.journal import Journal
from controller.record.paid import paid_until
from controller.record.report.against_aws import compared, comparison_table, days_of
from controller.record.report.report import make_report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the runs, and the form of the output."""
    parser.add_argument("run", nargs="*", help="a run's folder under runs/ (default: the latest), or two to compare")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--against-aws",
        action="store_true",
        help="ask Cost Explorer, which charges $0.01, what the cluster was charged, and show it beside the run's bill",
    )
    add_remote_option(parser)


def report(context: Context, options: argparse.Namespace) -> int:
    """Makes a run's report anew from its journal, or compares two runs."""
    journals = [_journal(context, name, options.remote) for name in options.run or [None]]
    if options.json:
        reports = [make_report(journal, context.usd_per_hour, context.clock.now()) for journal in journals]
        print(json.dumps(reports if len(reports) > 1 else reports[0], indent=2))
    elif len(journals) == 1:
        page = print_reports(context, journals[0])
        if options.against_aws:
            _print_against_aws(context, journals[0])
        _open(page)
    elif len(journals) == 2:
        _open(_compare(context, journals[0], journals[1]))
    else:
        raise JournalError(f"{len(journals)} runs can't be compared.", "Name one run, or two.")
    return 0


def _journal(context: Context, name: str | None, remote: bool) -> Journal:
    """Returns a run's journal, in a folder that has what a report is made from beside it."""
    chosen = choose(context, name, remote=remote)
    if chosen.copy is not None:
        chosen.copy.fetch(REPORTED)
    return chosen.journal


def _compare(context: Context, first: Journal, second: Journal) -> Path:
    # matplotlib takes a second to import, which a report as JSON need not wait for
    from controller.record.report.html.two_runs import write_comparison  # noqa: PLC0415

    page = write_comparison(
        [(journal, make_report(journal, context.usd_per_hour, context.clock.now())) for journal in (first, second)]
    )
    print(f"Comparison: {page}")
    return page


def _print_against_aws(context: Context, journal: Journal) -> None:
    """Prints the run's bill beside what AWS has charged for the cluster on the days of the run. Raises AwsError."""
    now = context.clock.now()
    made = make_report(journal, context.usd_per_hour, now)
    first, end = days_of(journal.info().started_at, paid_until(journal, now))
    charged = AwsSpending().charged(context.environment.settings.cluster, first, end)
    Console().print(comparison_table(compared(made["cost"]["bill"], charged.usd), first, end))
    if not charged.usd:
        print(f"AWS has charged nothing under the tag {CLUSTER_TAG}. Activate it as a cost allocation tag.")
    elif charged.is_estimated:
        print("AWS's charges are estimates yet. They are complete a day after the run.")


def _open(page: Path) -> None:
    """Opens the page in the browser, if a person sits before a desktop."""
    has_desktop = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform == "darwin"
    if has_desktop and sys.stdout.isatty():
        webbrowser.open(page.resolve().as_uri())


COMMAND = Command(
    "report", "what a run measured, moved and saved, as a page; or two runs side by side", report, add_options
)
