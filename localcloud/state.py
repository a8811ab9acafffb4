"""The state directory: which daemon runs here, with which configuration, and its files."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localcloud.settings import Settings


@dataclass(frozen=True)
class Running:
    """The daemon of a state directory. `started` tells it from a later process with the same id."""

    pid: int
    started: int
    settings: Settings


class StateDir:
    """`daemon.json`, `localcloud.log` and `instances/` of one localcloud."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def log(self) -> Path:
        """Where the daemon writes."""
        return self.path / "localcloud.log"

    @property
    def instances(self) -> Path:
        """One directory per instance."""
        return self.path / "instances"

    @property
    def _record(self) -> Path:
        return self.path / "daemon.json"

    def running(self) -> Running | None:
        """The daemon that runs here, None when there is none (or it died)."""
        try:
            document = json.loads(self._record.read_text())
            settings = Settings.model_validate(document["settings"])
            found = Running(document["pid"], document["started"], settings)
        except (OSError, ValueError, KeyError):
            return None
        return found if start_time(found.pid) == found.started else None

    @contextlib.contextmanager
    def held(self, settings: Settings) -> Iterator[None]:
        """This process is the daemon meanwhile; raises RuntimeError when another one is."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(f"another localcloud runs or starts in {self.path}") from None
            self._write(settings)
            try:
                yield
            finally:
                self.forget()

    def _write(self, settings: Settings) -> None:
        started = start_time(os.getpid())
        assert started is not None
        document = {"pid": os.getpid(), "started": started, "settings": json.loads(settings.model_dump_json())}
        temporary = self._record.with_suffix(".new")
        temporary.write_text(json.dumps(document))
        temporary.replace(self._record)

    def forget(self) -> None:
        """No daemon runs here any more."""
        self._record.unlink(missing_ok=True)


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since the boot; None when it does not live."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
