"""A cluster as its bucket shows it, to whoever has credentials: its lease, its runs, and a copy of a run's state.

Nothing but S3 is asked, so that looking wakes nothing and takes the time of a few requests.
"""

from __future__ import annotations

import gzip
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from controller.domain.errors import JournalError
from controller.edges.bucket.objects import Kept, Objects
from controller.edges.files import write_whole
from controller.owning import keys
from controller.owning.runs_index import read_runs
from controller.owning.sources import SCORES
from controller.owning.taking import Seen, see
from controller.record.journal.schema import FILE_NAME

ETAG_FILE = "journal.etag"
REPORTED = ("setup.json", SCORES)
"""What a report is made from beside the journal."""


class RunCopy:
    """The journal of a run as the bucket has it, in a folder of this checkout.

    Args:
        objects: Those of the cluster's bucket.
        run: The run's name.
        directory: The folder.

    Attributes:
        directory: The folder. It has a journal after the first `refresh`.
        age_s: How old the bucket's copy was when it last changed or was first read, by S3's clock; None where unknown.
    """

    def __init__(self, objects: Objects, run: str, directory: Path) -> None:
        self._objects, self._run, self.directory = objects, run, directory
        self.age_s: float | None = None

    def refresh(self) -> None:
        """Brings the journal up to date. Whoever has it open reads on in it.

        Raises:
            JournalError: The bucket has no journal of this run, or none that can be read.
            AwsError: The bucket can't be asked.
        """
        key = keys.of_run(self._run, keys.JOURNAL_NAME)
        head = self._objects.head(key)
        if head is None:
            raise JournalError(
                f"The cluster's bucket has no journal of the run {self._run}.",
                "`centavo status --remote` shows the run that it has.",
            )
        self.age_s = head.age_s
        kept = self._objects.changed(key, self._known_etag())
        if kept is not None:
            self._restore(kept)

    def fetch(self, names: Iterable[str]) -> None:
        """Brings files of the run's folder. Those that the bucket does not have are left out. Raises AwsError."""
        for name in names:
            kept = self._objects.read(keys.of_run(self._run, name))
            if kept is not None:
                write_whole(self.directory / name, kept.content)

    def _known_etag(self) -> str | None:
        try:
            etag = (self.directory / ETAG_FILE).read_text(encoding="ascii")
        except OSError:
            return None
        return etag if (self.directory / FILE_NAME).is_file() else None

    def _restore(self, kept: Kept) -> None:
        try:
            content = gzip.decompress(kept.content)
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(self._run, error) from error
        self.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.directory) as folder:
            whole = Path(folder, FILE_NAME)
            whole.write_bytes(content)
            try:
                with (
                    closing(sqlite3.connect(whole)) as source,
                    closing(sqlite3.connect(self.directory / FILE_NAME)) as target,
                ):
                    source.execute("SELECT value FROM run").fetchall()
                    source.backup(target)
                    target.execute("PRAGMA journal_mode=WAL")
            except sqlite3.Error as error:
                raise _unreadable(self._run, error) from error
        write_whole(self.directory / ETAG_FILE, kept.etag)


class Remote:
    """A cluster as its bucket shows it. Every method raises AwsError.

    Args:
        objects: Those of the bucket.
        directory: The folder for copies of runs.
    """

    def __init__(self, objects: Objects, directory: Path) -> None:
        self.objects, self._directory = objects, directory

    def lease(self) -> Seen | None:
        """Returns the cluster's lease; None where nobody has ever had it."""
        return see(self.objects)

    def newest_run(self) -> str | None:
        """Returns the run that is under way, or the last one; None before the first."""
        seen = self.lease()
        if seen is not None and seen.lease is not None and seen.lease.run is not None:
            return seen.lease.run
        runs = read_runs(self.objects)
        return runs[0].run if runs else None

    def copy_of(self, run: str) -> RunCopy:
        """Returns a run's copy, which is not brought here yet. Raises JournalError for what can't be a run's name."""
        if run in ("", ".", "..") or "/" in run:
            raise JournalError(f"{run!r} is no name of a run.", "`centavo status --remote` shows the run's name.")
        return RunCopy(self.objects, run, self._directory / run)


def _unreadable(run: str, error: Exception) -> JournalError:
    return JournalError(
        f"The bucket's copy of the journal of the run {run} can't be read: {error}.",
        "Its owner writes the next copy soon: try again. An older version of the object may be whole.",
    )
