"""The state directory: which daemon runs in it, and the files of that daemon."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from localcloud.credentials import Credentials
from localcloud.settings import Settings
from localcloud.support.files import write_atomically
from localcloud.support.processes import start_time


class Running(BaseModel):
    """The daemon of a state directory. `started` tells it from a later process with the same id."""

    model_config = ConfigDict(frozen=True)

    pid: int
    started: int
    settings: Settings


class StateDir:
    """The folder with `daemon.json`, `credentials`, `localcloud.log`, `lock` and the folders of the instances."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def log(self) -> Path:
        """The log file of the daemon."""
        return self.path / "localcloud.log"

    @property
    def credentials_file(self) -> Path:
        """The secrets of the daemon, which AWS's clients can read. Nobody but its owner may read it."""
        return self.path / "credentials"

    def credentials(self) -> Credentials:
        """Returns the secrets of the daemon.

        Raises:
            OSError: no daemon runs here.
            ValueError: the file was changed.
        """
        return Credentials.from_text(self.credentials_file.read_text())

    @property
    def _record(self) -> Path:
        return self.path / "daemon.json"

    def running(self) -> Running | None:
        """Returns the daemon that runs here, or None if there is none or it has died."""
        try:
            found = Running.model_validate_json(self._record.read_text())
        except (OSError, ValueError):
            return None
        return found if start_time(found.pid) == found.started else None

    @contextlib.contextmanager
    def held(self, settings: Settings) -> Iterator[None]:
        """Makes this process the daemon of the state directory until the context ends, with new secrets.

        Raises:
            RuntimeError: another daemon runs or starts here.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(
                    f"another localcloud runs or starts in {self.path}; end it with `python -m localcloud down`, "
                    "or give another --state-dir"
                ) from None
            write_atomically(self.credentials_file, Credentials.random().to_text(), mode=0o600)
            self._write(settings)
            try:
                yield
            finally:
                self.forget()

    def forget(self) -> None:
        """Removes the record of the daemon and its secrets, because none runs here any more."""
        self._record.unlink(missing_ok=True)
        self.credentials_file.unlink(missing_ok=True)

    def _write(self, settings: Settings) -> None:
        started = start_time(os.getpid())
        assert started is not None
        record = Running(pid=os.getpid(), started=started, settings=settings)
        write_atomically(self._record, record.model_dump_json())
