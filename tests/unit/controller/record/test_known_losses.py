"""What runs have lost to the spot market is known to later runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.domain.observed.spot import Exposure
from controller.record.known_losses import MOST_NODE_HOURS, LossesError, keep, recall


def test_losses_come_back(tmp_path: Path) -> None:
    assert recall(tmp_path / "losses.json") == {}
    keep(tmp_path / "losses.json", {"c5.large": Exposure(3, 40.5)})
    assert recall(tmp_path / "losses.json") == {"c5.large": Exposure(3, 40.5)}


def test_old_hours_count_less(tmp_path: Path) -> None:
    keep(tmp_path / "losses.json", {"c5.large": Exposure(8, 4 * MOST_NODE_HOURS)})
    assert recall(tmp_path / "losses.json") == {"c5.large": Exposure(2, MOST_NODE_HOURS)}


def test_without_losses_nothing_is_written(tmp_path: Path) -> None:
    keep(tmp_path / "losses.json", {})
    assert not (tmp_path / "losses.json").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", '{"a": 1}', '{"a": {"lost": -1}}', '{"a": {"lost": true}}', '{"a": {"b": 1}}']
)
def test_a_torn_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "losses.json").write_text(text)
    with pytest.raises(LossesError, match=r"losses\.json"):
        recall(tmp_path / "losses.json")
