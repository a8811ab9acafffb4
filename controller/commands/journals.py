"""Which run a command looks at."""

from __future__ import annotations

from pathlib import Path

from controller.assembly import Workshop
from controller.errors import JournalError
from controller.record.journal import FILE_NAME, Journal
from controller.record.runs import latest_run


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
