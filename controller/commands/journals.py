"""Which run a command looks at."""

from __future__ import annotations

from pathlib import Path

from controller.commands.context import Context
from controller.domain.errors import JournalError
from controller.record.journal.journal import FILE_NAME, Journal
from controller.record.journal.runs import latest_run


def run_or_latest(context: Context, name: str | None = None) -> Journal:
    """The run of that name, or the latest one. Raises JournalError where there is none."""
    return _latest(context) if name is None else _named(context, name)


def _latest(context: Context) -> Journal:
    journal = latest_run(context.environment.runs_directory)
    if journal is None:
        raise JournalError("There is no run yet.", "`centavo optimize` starts one.")
    return journal


def _named(context: Context, name: str) -> Journal:
    """The run of that name; a shell's completion makes `runs/NAME/` of it."""
    directory = context.environment.runs_directory / Path(name).name
    if not (directory / FILE_NAME).is_file():
        raise JournalError(
            f"There is no run {name!r} under {context.environment.runs_directory}.", "`ls runs` lists them."
        )
    return Journal(directory.resolve())
