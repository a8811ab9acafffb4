"""How the journal's file is made and opened."""

from __future__ import annotations

from pathlib import Path

from controller.record.journal.schema import create_database, open_database


def test_a_journal_is_made_in_a_folder_of_its_own_wherever_that_lies(tmp_path: Path) -> None:
    create_database(tmp_path / "a" / "b", {"run": "a-run"})
    rows = open_database(tmp_path / "a" / "b").execute("SELECT key, value FROM run").fetchall()
    assert [tuple(row) for row in rows] == [("run", "a-run")]


def test_a_writer_waits_ten_seconds_for_another_and_every_statement_stands_by_itself(tmp_path: Path) -> None:
    create_database(tmp_path / "a", {})
    database = open_database(tmp_path / "a")
    assert database.execute("PRAGMA busy_timeout").fetchone()[0] == 10_000
    database.execute("INSERT INTO run VALUES ('a', 'b')")
    assert not database.in_transaction
