"""`centavo picture`: a run's cost and fleet over time as an SVG, such as the README's."""

from __future__ import annotations

import argparse
from pathlib import Path

from controller.commands.context import Context
from controller.commands.shared.chosen_run import run_or_latest
from controller.commands.shared.command import Command
from controller.record.report.report import make_report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the run, and the file to write."""
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--out", type=Path, default=Path("docs/run.svg"), help="the file (default: docs/run.svg)")


def picture(context: Context, options: argparse.Namespace) -> int:
    """Draws a run as an SVG file of its own."""
    # matplotlib takes a second to import, which other commands need not wait for
    from controller.record.report.html.picture import write  # noqa: PLC0415
    from controller.record.report.html.run import read_run  # noqa: PLC0415

    journal = run_or_latest(context, options.run)
    file = context.environment.path(options.out)
    write(read_run(journal, make_report(journal, context.usd_per_hour, context.clock.now())), file)
    print(f"Picture: {file}")
    return 0


COMMAND = Command("picture", "a run's cost and fleet over time as an SVG, such as the README's", picture, add_options)
