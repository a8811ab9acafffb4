"""The run that a command looks at."""

from __future__ import annotations

from pathlib import Path

from controller.commands.context import Context
from controller.domain.errors import JournalError
from controller.record.journal import Journal
from controller.record.journal.runs import latest_run
from controller.record.journal.schema import FILE_NAME


def run_or_latest(context: Context, name: str | None = None) -> Journal:
    """Returns the journal of the run of that name, or of the latest run.

    Raises:
        JournalError: There is no such run.
    """
    return _latest(context) if name is None else _named(context, name)


def _latest(context: Context) -> Journal:
    journal = latest_run(context.environment.runs_directory)
    if journal is None:
        raise JournalError("There is no run yet.", "`centavo optimize` starts one.")
    return journal


def _named(context: Context, name: str) -> Journal:
    """Returns the journal of a run. `name` may be a path such as `runs/NAME/`, which a shell completes."""
    directory = context.environment.runs_directory / Path(name).name
    if not (directory / FILE_NAME).is_file():
        raise JournalError(
            f"There is no run {name!r} under {context.environment.runs_directory}.", "`ls runs` lists them."
        )
    return Journal(directory.resolve())
