"""The run that a command looks at: one of this checkout, or a copy of it in the cluster's bucket."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from controller.commands.context import Context
from controller.commands.shared import owned
from controller.domain.errors import AwsError, JournalError
from controller.owning.remote import Remote, RunCopy
from controller.record.journal import Journal
from controller.record.journal.runs import latest_run
from controller.record.journal.schema import FILE_NAME


@dataclass(frozen=True)
class Chosen:
    """A run to look at.

    Attributes:
        journal: Its journal.
        remote: The cluster's bucket, where the run comes from there; None for a run of this checkout.
        copy: The run's copy, which can be brought up to date, where it comes from the bucket.
    """

    journal: Journal
    remote: Remote | None = None
    copy: RunCopy | None = None


def add_remote_option(parser: argparse.ArgumentParser) -> None:
    """Adds where the run is looked for."""
    parser.add_argument(
        "--remote",
        action="store_true",
        help="look at the run as the cluster's bucket has it, whoever controls it (default: only where this checkout "
        "has no run). Only S3 is asked, no node",
    )


def choose(context: Context, name: str | None, *, remote: bool) -> Chosen:
    """Returns the run of that name, or the latest one.

    Args:
        context: The environment.
        name: The run's; None: the latest, or in the bucket the one that is under way.
        remote: Whether it comes from the bucket although this checkout has a run.

    Raises:
        JournalError: There is no such run.
        AwsError: The bucket can't be asked.
    """
    if not remote and (name is not None or latest_run(context.environment.runs_directory) is not None):
        return Chosen(run_or_latest(context, name))
    try:
        return _from_bucket(context, name)
    except AwsError as error:
        if remote:
            raise
        raise JournalError(
            f"There is no run in this checkout, and the cluster's bucket can't be asked: {error.what}",
            f"`centavo optimize` starts a run. {error.next_step}".strip(),
        ) from error


def run_or_latest(context: Context, name: str | None = None) -> Journal:
    """Returns the journal of this checkout's run of that name, or of its latest run.

    Raises:
        JournalError: There is no such run.
    """
    return _latest(context) if name is None else _named(context, name)


def _latest(context: Context) -> Journal:
    journal = latest_run(context.environment.runs_directory)
    if journal is None:
        raise _no_run()
    return journal


def _named(context: Context, name: str) -> Journal:
    """Returns the journal of a run. `name` may be a path such as `runs/NAME/`, which a shell completes."""
    directory = context.environment.runs_directory / Path(name).name
    if not (directory / FILE_NAME).is_file():
        raise JournalError(
            f"There is no run {name!r} under {context.environment.runs_directory}.",
            "`ls runs` lists them; with `--remote` the run is looked for in the cluster's bucket.",
        )
    return Journal(directory.resolve())


def _from_bucket(context: Context, name: str | None) -> Chosen:
    environment = context.environment
    bucket = owned.bucket_of(environment)
    if bucket is None:
        raise _no_run()
    remote = Remote(bucket, environment.state_directory / "remote")
    run = remote.newest_run() if name is None else Path(name).name
    if run is None:
        raise _no_run()
    copy = remote.copy_of(run)
    copy.refresh()
    return Chosen(Journal(copy.directory), remote, copy)


def _no_run() -> JournalError:
    return JournalError("There is no run yet.", "`centavo optimize` starts one.")
