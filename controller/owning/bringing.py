"""Bringing a run's state from the bucket to this checkout, so that its controller can go on here."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from controller.act.capacity import parse_capacity
from controller.config.environment import Environment
from controller.domain.errors import JournalError
from controller.edges.bucket.objects import Objects
from controller.edges.files import not_written, write_whole
from controller.owning import keys
from controller.owning.remote import ETAG_FILE, RunCopy
from controller.owning.sources import RUN_FILES, SCORES, TERRAFORM_STATE
from controller.record.journal import Journal
from controller.record.journal.runs import point_latest
from controller.record.journal.schema import FILE_NAME


def bring_run(objects: Objects, environment: Environment, run: str) -> tuple[Journal, bool]:
    """Brings a run's folder, unless the one of this checkout is as new.

    What is replaced is kept under `.centavo/ENV/replaced`.

    Returns:
        The run's journal, and whether it came from the bucket.

    Raises:
        JournalError: The bucket has no journal of the run that can be read.
        AwsError: The bucket can't be asked.
        DiskError: The folder can't be written.
    """
    runs = environment.runs_directory
    coming, here = runs / f".{run}.coming", runs / run
    shutil.rmtree(coming, ignore_errors=True)
    copy = RunCopy(objects, run, coming)
    try:
        copy.refresh()
        if (here / FILE_NAME).is_file() and not _is_newer(coming, here):
            return Journal(here), False
        copy.fetch((*RUN_FILES, SCORES))
        (coming / ETAG_FILE).unlink()
        _put_aside(environment, here)
        coming.rename(here)
    except OSError as error:
        raise not_written(here, error) from error
    finally:
        shutil.rmtree(coming, ignore_errors=True)
    point_latest(runs, run)
    return Journal(here), True


def bring_capacity(objects: Objects, environment: Environment) -> bool:
    """Brings the capacity file. Returns whether it has changed. Raises AwsError, CapacityFileError or DiskError."""
    kept, file = objects.read(keys.CAPACITY), environment.capacity_file
    if kept is None or (file.is_file() and file.read_bytes() == kept.content):
        return False
    parse_capacity(kept.content, file)
    write_whole(file, kept.content)
    return True


def bring_terraform_state(objects: Objects, environment: Environment) -> bool:
    """Brings the state of Terraform's local backend, where the bucket has one that is not older.

    Returns:
        Whether the state here has changed.

    Raises:
        AwsError: The bucket can't be asked.
        DiskError: The state can't be written.
    """
    kept, file = objects.read(keys.TERRAFORM_STATE), environment.directory / TERRAFORM_STATE
    if kept is None:
        return False
    theirs, own = _state(kept.content), _state(file.read_bytes()) if file.is_file() else {}
    is_same = own.get("lineage") == theirs.get("lineage")
    if "lineage" not in theirs or (is_same and own.get("serial", -1) >= theirs.get("serial", -1)):
        return False
    _put_aside(environment, file)
    write_whole(file, kept.content)
    return True


def bring_cluster_key(objects: Objects, environment: Environment) -> None:
    """Brings the public key that the cluster was made with, so that Terraform finds nothing to change here."""
    kept = objects.read(keys.CLUSTER_KEY)
    if kept is not None and kept.content.strip() != environment.public_key_file.read_bytes().strip():
        write_whole(environment.taken_key_file, kept.content)


def _is_newer(there: Path, here: Path) -> bool:
    """Returns whether a journal is newer than another one of the same run. One that can't be read is old."""
    try:
        return _progress(there) > _progress(here)
    except JournalError:
        return True


def _progress(directory: Path) -> tuple[int, float]:
    """Returns how often a run was taken over, and when something happened last."""
    journal = Journal(directory)
    times = [summary.at for _, summary in journal.summaries()] + [event["at"] for event in journal.events()]
    found = journal.generation, max(times, default=0.0)
    journal.close()
    return found


def _put_aside(environment: Environment, path: Path) -> None:
    """Moves a file or folder of this checkout away, and keeps it."""
    if not path.exists():
        return
    folder = environment.state_directory / "replaced"
    folder.mkdir(parents=True, exist_ok=True)
    names = (folder / f"{path.name}.{number}" for number in range(1, 10_000))
    shutil.move(path, next(name for name in names if not name.exists()))


def _state(content: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        state = json.loads(content)
        return state if isinstance(state, dict) else {}
    return {}
