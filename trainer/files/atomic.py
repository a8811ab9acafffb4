"""Writing a file so that a reader sees the old content or the new content, and never a part of it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The disk, the user's part of it, or the file has no room. Writing to an open file tells this without its name."""
PARTIAL_PREFIX = ".partial-"
"""The name of an unfinished file begins with this; readers of a folder skip such files."""


def write_atomically(path: Path, data: bytes | str, *, readable_by_all: bool = False, durable: bool = False) -> None:
    """Replaces the content of `path` by `data`. Text is written as UTF-8. See `replaced`."""
    with replaced(path, readable_by_all=readable_by_all, durable=durable) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


@contextmanager
def replaced(path: Path, *, readable_by_all: bool = False, durable: bool = False) -> Iterator[Path]:
    """Gives a temporary file beside `path` to write to, and renames it to `path` afterwards.

    Args:
        path: The file to replace. Missing folders are made.
        readable_by_all: Whether other users may read the file. Without it, only the present user may.
        durable: Whether to wait until the content is on the disk, so that it survives a power failure.

    Raises:
        OSError: The file cannot be written; where the disk is full, with the name of `path`. Whatever is raised, the
            old file is still there and the temporary file is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=PARTIAL_PREFIX)
    os.close(descriptor)
    try:
        yield Path(name)
        if readable_by_all:
            os.chmod(name, 0o644)
        if durable:
            _flush(name)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _flush(name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
