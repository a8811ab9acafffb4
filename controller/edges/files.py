"""Files that others read while they are written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from controller.domain.errors import DiskError
from controller.domain.reasons.writing import NotWritten
from controller.words.reasons.sentences import as_sentence

READABLE_BY_ALL = 0o644


def write_whole(path: Path, content: str | bytes) -> None:
    """Replaces a file at once: a reader sees the old content or the new one, never a part, even after a power cut.

    The content is written beside the file, flushed to the disk and renamed. The folder is made where it is missing.

    Raises:
        DiskError: The content could not be written; the file is as it was, and nothing is left beside it.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> DiskError:
    """Returns the error of a file that can't be written, for people."""
    reason = NotWritten(str(path), error.strerror or str(error))
    return DiskError(as_sentence(reason), "See that the disk has room and the folder may be written.", reason=reason)


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, READABLE_BY_ALL)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
