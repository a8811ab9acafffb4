"""Parameters are written whole or not at all, also where MXNet does not notice that the disk is full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest

from trainer.model.parameter_file import write_parameters

ARRAYS = {"first.weight": mx.nd.ones((3, 5)), "second.weight": mx.nd.zeros((7,))}


def cut(path: str, _: Any) -> None:
    """Loses the last bytes, as MXNet does when the disk fills up at the end of a file."""
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[:-20])


def refuses(*_: Any) -> None:
    raise mx.MXNetError("Traceback (most recent call last):\n  ...\nMXNetError: FileStream.Write incomplete\n")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_parameters(tmp_path / "model.params", ARRAYS)
    found = mx.nd.load(str(tmp_path / "model.params"))
    assert {name: array.shape for name, array in found.items()} == {"first.weight": (3, 5), "second.weight": (7,)}


@pytest.mark.parametrize(("fails", "said"), [(cut, "its end is missing"), (refuses, "FileStream.Write incomplete")])
def test_a_disk_that_fills_up_is_told_and_leaves_what_was_there(
    fails: Callable[..., None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.params"
    write_parameters(path, ARRAYS)
    before, save = path.read_bytes(), mx.nd.save

    def saved(name: str, arrays: Any) -> None:
        save(name, arrays)
        fails(name, arrays)

    monkeypatch.setattr(mx.nd, "save", saved)
    with pytest.raises(OSError, match=f"is the disk full.*{said}") as raised:
        write_parameters(path, ARRAYS)
    assert raised.value.filename == str(path)
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["model.params"]
