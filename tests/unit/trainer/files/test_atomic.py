"""A file has its old content or its new one, and a failure leaves nothing behind."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from trainer.files.atomic import replaced, write_atomically


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomically(path, "one")
    write_atomically(path, b"two", durable=True)
    assert path.read_text() == "two"
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize(("readable_by_all", "mode"), [(False, 0o600), (True, 0o644)])
def test_others_may_read_it_only_where_that_is_asked_for(tmp_path: Path, readable_by_all: bool, mode: int) -> None:
    write_atomically(tmp_path / "file", "text", readable_by_all=readable_by_all)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_an_error_meanwhile_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), replaced(path) as temporary:
        temporary.write_text("half of the n")
        raise RuntimeError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "file", "text")
    assert names(tmp_path) == ["file"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as raised, replaced(tmp_path / "file"):
        Path("/dev/full").write_bytes(b"text")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(tmp_path / "file"))
    assert names(tmp_path) == []
