"""What every table of the journal is."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping


class Table:
    """A part of the journal, with the database that it is kept in."""

    _database: sqlite3.Connection


class RunValues(Table):
    """The table `run`: values by name."""

    def _values(self) -> Mapping[str, str]:
        return {row["key"]: row["value"] for row in self._database.execute("SELECT key, value FROM run")}

    def _set(self, key: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (key, value))
