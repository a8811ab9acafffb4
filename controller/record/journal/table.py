"""How every part of the journal writes: whole or not at all, and only while no other controller has taken over."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from controller.domain.errors import DiskError, SupersededError
from controller.domain.reasons.writing import NotWritten, RunTakenOver
from controller.words.reasons.sentences import as_sentence

Statement = tuple[str, Sequence[Any] | Mapping[str, Any]]
"""A statement of SQL and its parameters."""

GENERATION = "generation"
"""The value of the table `run` that counts how often a controller has taken the run over."""
PASSING = ("disk is full", "disk i/o error", "unable to open", "readonly database", "database is locked")
"""What SQLite says (sqlite.org/rescode.html) where a later attempt may do better."""


class Losses:
    """Counts what was lost, by kind."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, kind: str) -> bool:
        """Counts one more of a kind, named in the plural. Returns whether it is the first loss since all was well."""
        is_first = not self._counts
        self._counts[kind] += 1
        return is_first

    def taken(self) -> str:
        """Returns what was lost, for people, and begins anew; empty where nothing was."""
        lost = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._counts.items()))
        self._counts.clear()
        return lost


class Lock(Protocol):
    """What says who may write: `record.environment_lock.EnvironmentLock`, or `owning.ownership.Ownership`."""

    def check(self) -> None: ...

    def check_surely(self) -> None: ...


class Unlocked:
    """The lock of a journal that nobody has taken over: nothing is lost."""

    def check(self) -> None:
        """Finds nothing lost."""

    def check_surely(self) -> None:
        """Finds nothing lost."""


class Table:
    """A part of the journal, with the database that it is kept in.

    Attributes:
        directory: The run's folder.
        tell: Tells a person what the journal could not keep.
    """

    directory: Path
    tell: Callable[[str], None]
    _database: sqlite3.Connection
    _losses: Losses
    _generation: int
    """How many controllers had taken the run over when this journal was opened, or took it over itself."""
    _lock: Lock

    def check_writer(self) -> None:
        """Checks that this is still the run's only writer. To be called before every side effect.

        Raises:
            SupersededError: The environment's lock is lost, or another controller has taken the run over.
            LeaseUncertainError: The cluster's lease may have run out, and can't be renewed now.
        """
        self._lock.check_surely()
        self._check_generation()

    def _check_generation(self) -> None:
        """Raises SupersededError when another controller has taken the run over."""
        latest = self._latest_generation()
        if latest != self._generation:
            run = self.directory.name
            reason = RunTakenOver(run, self._generation, latest)
            raise SupersededError(as_sentence(reason), "`centavo watch` shows the run.", reason=reason)

    def _must_write(self, *statements: Statement) -> None:
        """Writes all of this durably, or nothing.

        Raises:
            DiskError: The disk is full or fails. A later attempt may do better.
            SupersededError: This is not the run's writer any more.
        """
        try:
            self._write(statements)
        except sqlite3.OperationalError as error:
            if not _may_pass(error):
                raise
            reason = NotWritten(str(self.directory), str(error))
            next_step = f"Make room on the disk that holds {self.directory}; the controller tries again by itself."
            raise DiskError(as_sentence(reason), next_step, reason=reason) from error

    def _may_write(self, kind: str, *statements: Statement) -> bool:
        """Writes all of this, or loses it where the disk is full or fails. What is lost is counted, and told once.

        Args:
            kind: What is written, for people, in the plural: `observations`.

        Returns:
            Whether it was written.

        Raises:
            SupersededError: This is not the run's writer any more.
        """
        try:
            self._write(statements)
        except sqlite3.OperationalError as error:
            if not _may_pass(error):
                raise
            if self._losses.add(kind):
                self.tell(
                    f"{self.directory} can't be written: {error}; what is observed and decided is lost until there is "
                    "room again"
                )
            return False
        lost = self._losses.taken()
        if lost:
            self.tell(f"{self.directory} can be written again; not kept were {lost}")
        return True

    def _write(self, statements: Sequence[Statement]) -> None:
        with self._transaction():
            self._lock.check()
            self._check_generation()
            for sql, parameters in statements:
                self._database.execute(sql, parameters)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # SQLite itself has rolled back after some errors
                self._database.execute("ROLLBACK")
            raise

    def _latest_generation(self) -> int:
        row = self._database.execute("SELECT value FROM run WHERE key = ?", (GENERATION,)).fetchone()
        return 0 if row is None else int(row["value"])


def _may_pass(error: sqlite3.OperationalError) -> bool:
    return any(words in str(error).lower() for words in PASSING)
