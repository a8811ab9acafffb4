"""Files that are replaced as a whole."""

from __future__ import annotations

from pathlib import Path

from localcloud.support.files import write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "daemon.json"
    write_atomically(path, "old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_is_never_readable_for_others(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.with_name("secret.new").write_text("left behind")
    write_atomically(file, "text", mode=0o600)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("text", 0o600)
