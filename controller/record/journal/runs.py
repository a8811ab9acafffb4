"""The folders of the runs: `runs/<UTC stamp>/`, and `runs/latest`, a link to the newest."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from controller.domain import Fleet
from controller.record.journal import Journal, create_journal
from controller.record.journal.run import RunInfo
from controller.record.journal.schema import FILE_NAME
from controller.record.journal.stage import Stage

LATEST = "latest"


def start_run(runs: Path, *, environment: str, policy: str, initial: Fleet, now: float) -> Journal:
    """Makes a new run's folder and journal, and points `latest` to it."""
    runs.mkdir(parents=True, exist_ok=True)
    stamp = datetime.fromtimestamp(now, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    names = [stamp] + [f"{stamp}-{number}" for number in range(2, 100)]
    name = next(name for name in names if not (runs / name).exists())
    journal = create_journal(runs / name, RunInfo(name, environment, policy, now, initial))
    point_latest(runs, name)
    return journal


def latest_run(runs: Path) -> Journal | None:
    """Returns the newest run's journal, if there is one."""
    directory = (runs / LATEST).resolve()
    return Journal(directory) if (directory / FILE_NAME).is_file() else None


def unfinished_run(runs: Path, environment: str) -> Journal | None:
    """Returns the journal of the environment's newest run, if that run has not ended."""
    for file in sorted(runs.glob(f"*/{FILE_NAME}"), reverse=True):
        if file.parent.is_symlink():
            continue
        journal = Journal(file.parent)
        if journal.info().environment != environment:
            journal.close()
            continue
        if journal.stage() is not Stage.ENDED:
            return journal
        journal.close()
        return None
    return None


def point_latest(runs: Path, name: str) -> None:
    """Points the link `latest` to a run."""
    link = runs / f".{LATEST}.new"
    link.unlink(missing_ok=True)
    link.symlink_to(name)
    os.replace(link, runs / LATEST)
