"""The journal of one run, `runs/RUN/journal.sqlite`: all its tables.

Every write is a transaction of its own, so that a controller killed at any point finds the last step it began. Only the
controller that took the run over last may write. On a full disk, what has to be durable before a side effect raises
DiskError; observations, decisions and events are lost, counted and told.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from controller.record.journal.availability import AvailabilityTable
from controller.record.journal.decisions import DecisionTable
from controller.record.journal.events import EventTable
from controller.record.journal.moves import MoveTable
from controller.record.journal.observations import ObservationTable
from controller.record.journal.run import RunInfo, RunTable, run_values
from controller.record.journal.schema import create_database, open_database
from controller.record.journal.spot import SpotTable
from controller.record.journal.stage import FIRST_STAGE, StageTable
from controller.record.journal.table import Losses, Unlocked
from controller.record.journal.writer import WriterTable


def untold(message: str) -> None:
    """Tells nobody."""


class Journal(
    WriterTable,
    RunTable,
    StageTable,
    ObservationTable,
    DecisionTable,
    MoveTable,
    EventTable,
    AvailabilityTable,
    SpotTable,
):
    """One run's journal.

    Args:
        directory: The run's folder.
        tell: Tells a person what the journal could not keep.

    Raises:
        JournalError: The file is not a journal, or a journal of another version.
    """

    def __init__(self, directory: Path, tell: Callable[[str], None] = untold) -> None:
        self.directory, self.tell = directory, tell
        self._database = open_database(directory)
        self._read, self._added, self._losses = {}, {}, Losses()
        self._lock, self._generation = Unlocked(), self._latest_generation()

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


def create_journal(directory: Path, info: RunInfo) -> Journal:
    """Makes a new run's journal in a new folder."""
    create_database(directory, {**run_values(info), **FIRST_STAGE})
    return Journal(directory)
