"""The file of a model's parameters, in MXNet's own form."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mxnet as mx

from trainer.files.atomic import replaced


def write_parameters(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes arrays by name.

    MXNet says nothing where the disk has no room for the last bytes of a file. These are the last array's name.

    Raises:
        OSError: Not all of it could be written. Then there is what was there before.
    """
    with replaced(path, readable_by_all=True) as temporary:
        try:
            mx.nd.save(str(temporary), dict(arrays))
            problem = None if _ends_with(temporary, list(arrays)[-1].encode()) else "its end is missing"
        except mx.MXNetError as error:
            problem = str(error).strip().splitlines()[-1]
        if problem is not None:
            raise OSError(errno.EIO, f"MXNet could not write all of it; is the disk full? ({problem})", str(path))


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(end)))
        return file.read() == end
