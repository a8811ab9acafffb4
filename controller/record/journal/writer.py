"""Who writes a run's journal: the controller that took the run over last."""

from __future__ import annotations

from controller.record.journal.schema import missing_columns
from controller.record.journal.table import GENERATION, Lock, Table

LEASE_GENERATION = "lease_generation"


class WriterTable(Table):
    """The value `generation` of the table `run`."""

    @property
    def generation(self) -> int:
        """How many controllers have taken the run over by now."""
        return self._latest_generation()

    def lease_generation(self) -> int:
        """Returns the generation of the cluster's lease under which this journal was written last; 0 for none."""
        row = self._database.execute("SELECT value FROM run WHERE key = ?", (LEASE_GENERATION,)).fetchone()
        return 0 if row is None else int(row["value"])

    def set_lease_generation(self, generation: int) -> None:
        """Keeps the generation of the lease under which this journal is written from now on."""
        self._must_write(("INSERT OR REPLACE INTO run VALUES (?, ?)", (LEASE_GENERATION, str(generation))))

    def take_over(self, lock: Lock) -> int:
        """Makes this journal the run's only writer: whoever had it before can't write it any more.

        A journal that an older Centavo began gets the columns that it lacks.

        Args:
            lock: The lock of the run's environment. From now on `check` is asked before every write, and
                `check_surely` before every side effect.

        Returns:
            How many controllers have taken the run over by now. It is the fencing token of all that is written.

        Raises:
            DiskError: The disk is full or fails.
            SupersededError: The lock is not held any more.
        """
        lock.check()
        self._lock, self._generation = lock, self._latest_generation()
        number = self._generation + 1
        self._must_write(
            ("INSERT OR REPLACE INTO run VALUES (?, ?)", (GENERATION, str(number))),
            *((statement, ()) for statement in missing_columns(self._database)),
        )
        self._generation = number
        return number
