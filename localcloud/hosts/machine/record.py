"""What a cloud with machines has to undo on this machine: a file in its state folder, written first."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from localcloud.support.files import write_atomically


class Record(BaseModel):
    """The ranges that were made blackholes, and how this machine was before the cloud.

    Attributes:
        private_cidr: The range of private addresses.
        public_cidr: The range of public addresses.
        uplink: The interface to the internet; None where there is none.
        uplink_forwarded: Whether packets from the uplink were forwarded.
        namespaces_mounted: Whether the folder of network namespaces was mounted. The first `ip netns add` mounts it.
    """

    model_config = ConfigDict(frozen=True)

    private_cidr: str
    public_cidr: str
    uplink: str | None = None
    uplink_forwarded: bool = True
    namespaces_mounted: bool = True


def write(state_dir: Path, record: Record) -> None:
    """Writes the record."""
    state_dir.mkdir(parents=True, exist_ok=True)
    write_atomically(_path(state_dir), record.model_dump_json())


def read(state_dir: Path) -> Record | None:
    """Returns the record; None if the cloud has nothing to undo."""
    try:
        return Record.model_validate_json(_path(state_dir).read_text())
    except (OSError, ValidationError):
        return None


def forget(state_dir: Path) -> None:
    """Removes the record, because everything was undone."""
    _path(state_dir).unlink(missing_ok=True)


def hold(state_dir: Path) -> IO[str] | None:
    """Returns a lock on the machines of a state folder, which ends with its file; None if another process has it."""
    state_dir.mkdir(parents=True, exist_ok=True)
    lock = (state_dir / "machines.lock").open("w")
    os.set_inheritable(lock.fileno(), False)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _path(state_dir: Path) -> Path:
    return state_dir / "machines.json"
