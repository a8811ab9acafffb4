"""The report of a run: its files, and the summary that a person is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller.commands.context import Context
from controller.record.journal import Journal
from controller.record.report.report import FILE_NAME, write_report
from controller.record.report.summary_tables import print_summary


def write_reports(context: Context, journal: Journal) -> tuple[dict[str, Any], Path]:
    """Makes report.json and report.html anew, and returns the report and the page's path."""
    # matplotlib takes a second to import, which commands that draw nothing need not wait for
    from controller.record.report.html.page import write_page  # noqa: PLC0415

    report = write_report(journal, context.usd_per_hour, context.clock.now())
    return report, write_page(journal, report)


def print_reports(context: Context, journal: Journal) -> Path:
    """Prints the summary and where the reports are, and returns the page's path."""
    report, page = write_reports(context, journal)
    print_summary(report)
    print(f"Report: {page}\n        {journal.directory / FILE_NAME}")
    return page
