"""The file `journal.sqlite`: its schema, its tables, and how it is opened and made."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from controller.domain.errors import JournalError

FILE_NAME = "journal.sqlite"
SCHEMA_VERSION = 1
"""Kept in the file as SQLite's `user_version`.

Additions that older files lack are read as absent, so that the version stays and a run that an older Centavo began is
carried on. A change that an older file can't be read with raises the version.
"""

SCHEMA = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE observations (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, fleet TEXT NOT NULL, facts TEXT NOT NULL, unknown TEXT NOT NULL,
    usd_per_hour REAL NOT NULL, credits BLOB);
CREATE TABLE summaries (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, usd_per_hour REAL NOT NULL, fleet TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, policy TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
    decision TEXT NOT NULL);
CREATE TABLE moves (
    move_id INTEGER PRIMARY KEY, at REAL NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, reason TEXT NOT NULL,
    phase TEXT NOT NULL, grown TEXT NOT NULL, drain TEXT NOT NULL, outcome_reason TEXT, ended_at REAL, pause_s REAL,
    steps_lost INTEGER, is_probe INTEGER NOT NULL DEFAULT 0, left_out TEXT);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, move_id INTEGER, kind TEXT NOT NULL, message TEXT NOT NULL);
CREATE TABLE unavailable (flavor TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL);
CREATE INDEX observations_at ON observations (at);
CREATE INDEX summaries_cost ON summaries (at, id, usd_per_hour);
"""
"""`observations` has the observations that are needed whole, `summaries` has them all, by the same numbers.

`facts`, `unknown`, `credits`, `summary` and `decision` are JSON packed by zlib; older journals have the JSON itself.
`credits` is null where CloudWatch has told none. Older journals lack what is in `_ADDED` until a controller takes the
run over.
`decisions.reason` is the reason's code. `moves.reason` and `moves.outcome_reason` are reasons as JSON.
"""

_ADDED = (("observations", "credits", "BLOB"), ("moves", "left_out", "TEXT"))
"""Tables, columns and types that came later."""


def open_database(directory: Path) -> sqlite3.Connection:
    """Opens the journal in a run's folder. Every statement is a transaction of its own, unless one was begun.

    Raises:
        JournalError: The file is not a journal, or a journal of another version.
    """
    path = directory / FILE_NAME
    database = sqlite3.connect(path, isolation_level=None, timeout=10)
    database.row_factory = sqlite3.Row
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise JournalError(
            f"{path} can't be read: {error}.",
            "Move that run's folder away; `centavo optimize` then starts a new run.",
        ) from error
    if version != SCHEMA_VERSION:
        raise JournalError(
            f"{path} has schema {version}, this Centavo writes {SCHEMA_VERSION}.",
            "Go on with the version that began the run, or move its folder away.",
        )
    return database


def missing_columns(database: sqlite3.Connection) -> list[str]:
    """Returns the statements that add what a journal of an older Centavo lacks: none where it lacks nothing."""
    return [
        f"ALTER TABLE {table} ADD COLUMN {column} {kind}"
        for table, column, kind in _ADDED
        if all(there["name"] != column for there in database.execute(f"PRAGMA table_info({table})"))
    ]


def create_database(directory: Path, values: Mapping[str, str]) -> None:
    """Makes a journal in a new folder, with the values of its table `run`.

    The file gets its name when it is complete: a process that is killed meanwhile leaves a folder without a journal,
    and never a torn journal.
    """
    directory.mkdir(parents=True)
    part = directory / f"{FILE_NAME}.new"
    with closing(sqlite3.connect(part)) as database, database:
        database.executescript("PRAGMA journal_mode=WAL;" + SCHEMA + f"PRAGMA user_version = {SCHEMA_VERSION};")
        database.executemany("INSERT INTO run VALUES (?, ?)", values.items())
    os.replace(part, directory / FILE_NAME)
