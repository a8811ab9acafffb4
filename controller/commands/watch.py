"""`centavo watch`: the live view of a run that another process steers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import IO

from rich.console import Console

from controller.commands.context import Context
from controller.commands.shared.chosen_run import run_or_latest
from controller.commands.shared.command import Command
from controller.domain.errors import StoppedError
from controller.edges.clock import Clock
from controller.record.journal import Journal
from controller.record.live.drawing import render
from controller.record.live.live import shown
from controller.record.live.watcher import Watcher, line_of

LOOK_EVERY_S = 1.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the run, and whether to end after one look."""
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--once", action="store_true", help="show it once, and end")


def watch(context: Context, options: argparse.Namespace) -> int:
    """Shows a run until it ends or a person stops watching."""
    journal = run_or_latest(context, options.run)
    try:
        follow(journal, context.usd_per_hour, context.clock, once=options.once)
    except StoppedError:
        print("The run goes on; only the watching has ended.")
    return 0


def follow(
    journal: Journal,
    usd_per_hour: Mapping[str, float],
    clock: Clock,
    console: Console | None = None,
    once: bool = False,
) -> None:
    """Shows the run until it has ended: as a live view on a terminal, as lines elsewhere.

    Raises:
        StoppedError: A person has stopped watching.
    """
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
    """Prints a line whenever there is something new."""
    printed = ""
    while True:
        goes_on = watcher.look(clock.now())
        line = line_of(watcher.view)
        if line != printed:
            print(line, file=stream, flush=True)
        if not goes_on:
            return
        printed = line
        clock.sleep(LOOK_EVERY_S)


COMMAND = Command(
    "watch", "the live view of a run that goes on elsewhere, or how an ended one stood", watch, add_options
)
