"""A disk that is full for one journal: SQLite finds no room for a further page, and says so itself (SQLITE_FULL)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from controller.record.journal import Journal

SMALLEST = 500
"""Bytes of a row of the filler; what is smaller may still find room in a page that has some."""


def fill(journal: Journal) -> Callable[[], None]:
    """Fills the disk. Returns what frees it again."""
    database = journal._database
    most = database.execute("PRAGMA max_page_count").fetchone()[0]
    database.execute("CREATE TABLE IF NOT EXISTS filler (content BLOB)")
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages}")
    while True:
        try:
            database.execute("INSERT INTO filler VALUES (zeroblob(?))", (SMALLEST,))
        except sqlite3.OperationalError as error:
            assert "full" in str(error)
            break
    return lambda: free(journal, most)


def free(journal: Journal, most_pages: int) -> None:
    journal._database.execute(f"PRAGMA max_page_count = {most_pages}")


@contextmanager
def full_disk(journal: Journal) -> Iterator[None]:
    """Fills the disk while inside."""
    freed = fill(journal)
    try:
        yield
    finally:
        freed()
