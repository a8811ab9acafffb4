"""Steal time from /proc/stat: the share since the last call, and nothing where nothing can be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.node.steal import StealMeter


def write(path: Path, *ticks: int) -> Path:
    path.write_text(f"cpu  {' '.join(map(str, ticks))}\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    return path


def test_the_share_is_that_of_the_time_since_the_last_call(tmp_path: Path) -> None:
    """Of 100 ticks 20 worked and 80 were stolen; then of 50 ticks none. The time of guests is part of user."""
    path = write(tmp_path / "stat", 100, 0, 0, 900, 0, 0, 0, 0, 50, 0)
    meter = StealMeter(path)
    write(path, 120, 0, 0, 900, 0, 0, 0, 80, 60, 0)
    assert meter.share() == pytest.approx(0.8)
    write(path, 160, 5, 5, 900, 0, 0, 0, 80, 90, 0)
    assert meter.share() == 0.0


def test_no_time_tells_nothing(tmp_path: Path) -> None:
    meter = StealMeter(write(tmp_path / "stat", 1, 2, 3, 4, 5, 6, 7, 8))
    assert meter.share() is None


@pytest.mark.parametrize("text", ["", "intr 1 2 3", "cpu 1 2 3", "cpu a b c d e f g h"])
def test_a_kernel_that_tells_something_else_tells_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "stat"
    path.write_text(text)
    meter = StealMeter(path)
    assert meter.share() is None
    path.unlink()
    assert meter.share() is None


def test_this_machine_tells_a_share_or_nothing() -> None:
    share = StealMeter().share()
    assert share is None or 0 <= share <= 1
