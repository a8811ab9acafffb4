"""`centavo watch`: the live view of a run that another process steers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

from rich.console import Console

from controller.commands.context import Context
from controller.commands.shared.chosen_run import add_remote_option, choose
from controller.commands.shared.command import Command
from controller.domain.errors import AwsError, JournalError, StoppedError
from controller.edges.clock import Clock
from controller.owning.remote import RunCopy
from controller.record.journal import Journal
from controller.record.live.drawing import render
from controller.record.live.live import shown
from controller.record.live.watcher import Watcher, line_of

LOOK_EVERY_S = 1.0
LOOKS_A_COPY = 5
"""A run that comes from the bucket is brought up to date every so many looks."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the run, and whether to end after one look."""
    parser.add_argument("run", nargs="?", help="a run's folder under runs/ (default: the latest)")
    parser.add_argument("--once", action="store_true", help="show it once, and end")
    add_remote_option(parser)


def watch(context: Context, options: argparse.Namespace) -> int:
    """Shows a run until it ends or a person stops watching."""
    chosen = choose(context, options.run, remote=options.remote)
    refresh = _Refreshing(chosen.copy) if chosen.copy else lambda: None
    try:
        follow(chosen.journal, context.usd_per_hour, context.clock, once=options.once, refresh=refresh)
    except StoppedError:
        print("The run goes on; only the watching has ended.")
    return 0


def follow(
    journal: Journal,
    usd_per_hour: Mapping[str, float],
    clock: Clock,
    console: Console | None = None,
    once: bool = False,
    refresh: Callable[[], None] = lambda: None,
) -> None:
    """Shows the run until it has ended: as a live view on a terminal, as lines elsewhere.

    `refresh` is called before each look but the first: it brings the journal up to date.

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
                refresh()
    else:
        _follow_in_lines(watcher, clock, console.file, refresh)


def _follow_in_lines(watcher: Watcher, clock: Clock, stream: IO[str], refresh: Callable[[], None]) -> None:
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
        refresh()


class _Refreshing:
    """Brings a run's copy up to date every few looks. While the bucket can't be asked, the copy stays as it is."""

    def __init__(self, copy: RunCopy) -> None:
        self._copy, self._looks = copy, 0

    def __call__(self) -> None:
        self._looks += 1
        if self._looks % LOOKS_A_COPY == 0:
            with suppress(AwsError, JournalError):
                self._copy.refresh()


COMMAND = Command(
    "watch", "the live view of a run that goes on elsewhere, or how an ended one stood", watch, add_options
)
