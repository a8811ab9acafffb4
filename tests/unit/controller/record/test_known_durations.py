"""Durations of moves that are handed from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.domain.move import MovePart
from controller.record.known_durations import KEPT, MAX_AGE_S, keep, recall

NOW = 1_800_000_000.0
BOOT, PAUSE = MovePart.BOOT, MovePart.PAUSE


def test_what_a_run_measured_is_known_to_the_next_in_the_same_circumstances(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    keep(file, "a", {BOOT: (40.0, 50.0)}, NOW)
    keep(file, "b", {BOOT: (400.0,)}, NOW)
    keep(file, "a", {BOOT: (60.0,), PAUSE: (2.0,)}, NOW + 10)
    assert recall(file, "a", NOW + 20) == {BOOT: (40.0, 50.0, 60.0), PAUSE: (2.0,)}
    assert recall(file, "b", NOW + 20) == {BOOT: (400.0,)}
    assert recall(file, "c", NOW + 20) == {}


def test_old_ones_are_forgotten_and_only_the_latest_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "durations.json"
    keep(file, "a", {BOOT: tuple(map(float, range(100)))}, NOW)
    assert recall(file, "a", NOW) == {BOOT: tuple(map(float, range(100 - KEPT, 100)))}
    assert recall(file, "a", NOW + MAX_AGE_S + 1) == {}


def test_a_run_without_moves_leaves_no_file(tmp_path: Path) -> None:
    keep(tmp_path / "durations.json", "a", {BOOT: ()}, NOW)
    assert not (tmp_path / "durations.json").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', '{"a": {"at": 1e99}}', '{"a": {"at": 9e9, "seconds": {"x": [1]}}}']
)
def test_a_file_that_is_torn_tells_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "durations.json"
    file.write_text(text)
    assert recall(file, "a", NOW) == {}
    keep(file, "a", {BOOT: (40.0,)}, NOW)
    assert recall(file, "a", NOW) == {BOOT: (40.0,)}
