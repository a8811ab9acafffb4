"""Who writes a run's journal: the controller that took the run over last."""

from __future__ import annotations

from controller.record.journal.table import GENERATION, Lock, Table


class WriterTable(Table):
    """The value `generation` of the table `run`."""

    @property
    def generation(self) -> int:
        """How many controllers have taken the run over by now."""
        return self._latest_generation()

    def take_over(self, lock: Lock) -> int:
        """Makes this journal the run's only writer: whoever had it before can't write it any more.

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
        self._must_write(("INSERT OR REPLACE INTO run VALUES (?, ?)", (GENERATION, str(number))))
        self._generation = number
        return number
