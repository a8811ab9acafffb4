"""A comparison that is stopped and continued runs nothing twice."""

from __future__ import annotations

from pathlib import Path

from controller.simulate.compare import Row, compare
from controller.simulate.families import family_scenario
from controller.simulate.kept_rows import KeptRows


def rows_of(seed: int) -> dict[str, Row]:
    return compare(family_scenario("short", seed), ("hourly-price",))


def test_what_was_added_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    file, rows = tmp_path / "new" / "rows.jsonl", rows_of(1)
    KeptRows(file, "list").add("short", 1, rows)
    again = KeptRows(file, "list")
    assert again.of("short", 1) == rows
    assert again.of("short", 2) == {} and again.of("known", 1) == {}


def test_rows_with_other_prices_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    KeptRows(file, "list").add("short", 1, rows_of(1))
    assert KeptRows(file, "made up").of("short", 1) == {}


def test_a_torn_line_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    KeptRows(file, "list").add("short", 1, rows_of(1))
    file.write_text(file.read_text()[:-40])
    kept = KeptRows(file, "list")
    assert [*kept.of("short", 1)] == ["oracle"]
    kept.add("short", 2, rows_of(2))
    assert KeptRows(file, "list").of("short", 2) == rows_of(2)


def test_without_a_file_rows_are_kept_in_memory_only() -> None:
    kept = KeptRows(None, "list")
    kept.add("short", 1, rows_of(1))
    assert kept.of("short", 1) == rows_of(1)
