"""Files that others read while they are written."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from controller.domain.errors import DiskError
from controller.domain.reasons.writing import NotWritten
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


def test_on_a_disk_without_room_the_file_stays_and_the_error_says_which(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(DiskError, match=f"{tmp_path}/file can't be written: File too large") as error:
            write_whole(tmp_path / "file", b"x" * (1 << 17))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(error.value.reason, NotWritten) and "has room" in error.value.next_step
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
