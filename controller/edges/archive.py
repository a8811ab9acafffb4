"""Archives that depend on their content alone: the same files give the same archive, byte for byte."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path


def packed(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Returns a tar archive, packed by gzip, of files that are given by name, each with its content and mode."""
    archive = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=archive, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as entries,
    ):
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, 0
            entries.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def mode_of(path: Path) -> int:
    """Returns the mode that a file has in an archive: whether its owner may execute it is all that counts."""
    return 0o755 if os.access(path, os.X_OK) else 0o644
