"""Which run a command looks at, and what is said where it can't be read."""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Callable
from pathlib import Path

from controller.assembly import Workshop
from controller.errors import JournalError
from controller.record.journal import FILE_NAME, Journal
from controller.record.runs import latest_run

Command = Callable[[Workshop, argparse.Namespace], int]


def reading(command: Command, workshop: Workshop, options: argparse.Namespace) -> int:
    """Runs a command. Raises JournalError where a journal turns out to be damaged while it is read."""
    try:
        return command(workshop, options)
    except sqlite3.DatabaseError as error:
        raise JournalError(
            f"A journal under {workshop.environment.runs_directory} can't be read: {error}.",
            "Where a run was copied, copy its folder again, while nothing writes to it; else move that folder away.",
        ) from error


def run_or_latest(workshop: Workshop, name: str | None = None) -> Journal:
    """The run of that name, or the latest one. Raises JournalError where there is none."""
    return _latest(workshop) if name is None else _named(workshop, name)


def _latest(workshop: Workshop) -> Journal:
    journal = latest_run(workshop.environment.runs_directory)
    if journal is None:
        raise JournalError("There is no run yet.", "`centavo optimize` starts one.")
    return journal


def _named(workshop: Workshop, name: str) -> Journal:
    """The run of that name; a shell's completion makes `runs/NAME/` of it."""
    directory = workshop.environment.runs_directory / Path(name).name
    if not (directory / FILE_NAME).is_file():
        raise JournalError(
            f"There is no run {name!r} under {workshop.environment.runs_directory}.", "`ls runs` lists them."
        )
    return Journal(directory.resolve())
