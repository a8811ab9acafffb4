"""What of a run and its environment is copied to the bucket: files, and the journal as a whole at one moment."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller.config.environment import Environment
from controller.owning import keys
from controller.record.journal.schema import FILE_NAME
from controller.supply.boot_bundle import BUNDLE_FILE, KEY_FILE, POINTER_FILE, bundle_key

RUN_FILES = (
    "setup.json",
    "supplies.json",
    "training.yml",
    "trainer.zip",
    KEY_FILE,
    "centavo.log",
    "report.json",
    "report.html",
)
"""Files of a run's folder that whoever looks from elsewhere, or takes over, needs."""
SCORES = "results/scores.json"
TERRAFORM_STATE = "terraform.tfstate"
"""Where Terraform's local backend keeps the state. With another backend there is no such file."""
MOST_BYTES = 256 << 20
BUSY_S = 10.0
FAST = 1
"""gzip's level: what fills a journal is packed already."""

Signature = tuple[int, ...]
"""Is another one after each change of what is copied."""


class Source(Protocol):
    """Something that is copied to the bucket as an object."""

    @property
    def key(self) -> str:
        """The object's key."""

    def signature(self) -> Signature | None:
        """Returns what changes with the content; None while there is nothing."""

    def content(self) -> bytes | None:
        """Returns the content; None where it can't be had at this moment."""


@dataclass(frozen=True)
class FileSource:
    """A file that is replaced as a whole, or that lines are added to. One of more than `MOST_BYTES` is not copied."""

    key: str
    path: Path

    def signature(self) -> Signature | None:
        """Returns size and time of the file."""
        found = _signature(self.path)
        return None if found is None or found[0] > MOST_BYTES else found

    def content(self) -> bytes | None:
        """Returns the file's content."""
        with suppress(OSError):
            return self.path.read_bytes()
        return None


@dataclass(frozen=True)
class BootBundleSource:
    """The bundle by which nodes prepare themselves, under its digest. `directory` is the run's folder."""

    directory: Path

    @property
    def key(self) -> str:
        """The object's key, with the digest that the pointer has."""
        return bundle_key(self._digest())

    def signature(self) -> Signature | None:
        """Returns size and time of the bundle; None where no pointer names one."""
        return _signature(self.directory / BUNDLE_FILE) if self._digest() else None

    def content(self) -> bytes | None:
        """Returns the bundle, unless it has just been replaced and the pointer has not."""
        with suppress(OSError):
            content = (self.directory / BUNDLE_FILE).read_bytes()
            return content if self._digest() == hashlib.sha256(content).hexdigest() else None
        return None

    def _digest(self) -> str:
        """Returns the digest that the pointer has; empty without a pointer."""
        with suppress(OSError, ValueError):
            return str(json.loads((self.directory / POINTER_FILE).read_text(encoding="utf-8"))["sha256"])
        return ""


@dataclass(frozen=True)
class StateSource(FileSource):
    """The state of Terraform, which writes its file in place."""

    def content(self) -> bytes | None:
        """Returns the state, unless Terraform is writing it."""
        content = super().content()
        with suppress(ValueError):
            return content if content and "lineage" in json.loads(content) else None
        return None


@dataclass(frozen=True)
class JournalSource:
    """The journal of a run. `path` is its file."""

    key: str
    path: Path

    def signature(self) -> Signature | None:
        """Returns size and time of the journal, with what it has not merged yet."""
        main = _signature(self.path)
        return None if main is None else (*main, *(_signature(self.path.with_name(f"{self.path.name}-wal")) or ()))

    def content(self) -> bytes | None:
        """Returns the journal as it is at this moment, packed by gzip. Its writer goes on meanwhile."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder, FILE_NAME)
                with (
                    closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=BUSY_S)) as journal,
                    closing(sqlite3.connect(copy)) as whole,
                ):
                    journal.backup(whole)
                    whole.execute("PRAGMA journal_mode=DELETE")
                return gzip.compress(copy.read_bytes(), FAST)
        except (sqlite3.Error, OSError):  # a full disk, for one: the next round tries again
            return None


def sources_of(environment: Environment, run: str, run_directory: Path) -> Sequence[Source]:
    """Returns all that is copied for one run."""
    return (
        JournalSource(keys.of_run(run, keys.JOURNAL_NAME), run_directory / FILE_NAME),
        FileSource(keys.CAPACITY, environment.capacity_file),
        StateSource(keys.TERRAFORM_STATE, environment.directory / TERRAFORM_STATE),
        FileSource(keys.CLUSTER_KEY, environment.cluster_key_file),
        BootBundleSource(run_directory),
        FileSource(keys.BOOT, run_directory / POINTER_FILE),
        *(FileSource(keys.of_run(run, name), run_directory / name) for name in (*RUN_FILES, SCORES)),
    )


def _signature(path: Path) -> Signature | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
