"""Files that others read while they are written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.domain.errors import DiskError
from controller.edges import files
from controller.edges.files import write_whole


def test_text_and_bytes_are_written_into_a_folder_that_is_made_where_it_is_missing(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b.json", "é\n")
    assert (tmp_path / "a" / "b.json").read_bytes() == "é\n".encode()
    write_whole(tmp_path / "a" / "b.json", b"\x00")
    assert (tmp_path / "a" / "b.json").read_bytes() == b"\x00"
    assert (tmp_path / "a" / "b.json").stat().st_mode & 0o777 == 0o644


def test_a_write_that_breaks_off_leaves_the_old_content_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "file", "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(DiskError, match="disk full"):
        write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
