"""The hosts file is read with comments and slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.launch.hosts_file import read_hosts


def test_hosts_are_read_with_comments_and_slots(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# head\n10.0.0.5:1  # c5.large\n\n10.0.0.6\n10.0.0.5\n")
    assert read_hosts(tmp_path / "hosts") == ["10.0.0.5", "10.0.0.6"]
    (tmp_path / "hosts").write_text("10.0.0.5:4\n")
    with pytest.raises(ValueError, match="line 1"):
        read_hosts(tmp_path / "hosts")
