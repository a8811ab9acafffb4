"""Opening a file on this machine or in S3, whatever it is compressed with. Its first bytes tell."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from trainer.preparing.errors import PreparationError
from trainer.preparing.sources.decompressing import decompressed
from trainer.storage.opening import open_storage

BUFFER_BYTES = 1 << 20


class DigestedFile(io.RawIOBase):
    """A file whose content is digested while it is read from its beginning to its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._digest, self.bytes = file, hashlib.sha256(), 0

    def readable(self) -> bool:
        """Returns that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes."""
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._digest.update(data)
        self.bytes += len(data)
        return len(data)

    def sha256(self) -> str:
        """Reads what is left, and returns the SHA-256 of the content in hex."""
        while self.read(BUFFER_BYTES):
            pass
        return self._digest.hexdigest()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
        super().close()


def open_file(name: str) -> BinaryIO:
    """Opens a file as it is. Raises PreparationError where it is missing, and StorageError where S3 does not answer."""
    if "://" not in name:
        try:
            return Path(name).open("rb")
        except OSError as error:
            raise PreparationError(f"{name} cannot be read: {error.strerror}") from error
    parent, _, last = name.rpartition("/")
    stream = open_storage(parent).open(last)
    if stream is None:
        raise PreparationError(f"{name} is missing")
    return stream


@contextmanager
def opened(name: str) -> Iterator[tuple[BinaryIO, DigestedFile]]:
    """Gives the text of a file, decompressed, and the file itself, which knows its digest at the end."""
    file = DigestedFile(open_file(name))
    try:
        yield decompressed(name, io.BufferedReader(file, BUFFER_BYTES)), file
    finally:
        file.close()


def size_and_version(name: str) -> tuple[int, str]:
    """Returns the size of a file and what changes when it is replaced. Raises PreparationError where it is missing."""
    if "://" in name:
        with open_file(name) as stream:
            raw: Any = getattr(stream, "raw", None)
            return raw.size, raw.etag
    try:
        found = os.stat(name)
    except OSError as error:
        raise PreparationError(f"{name} cannot be read: {error.strerror}") from error
    return found.st_size, str(found.st_mtime_ns)


def size_and_digest(name: str) -> tuple[int, str]:
    """Reads a file, and returns its size and the SHA-256 of its content in hex. Raises PreparationError."""
    with open_file(name) as stream:
        file = DigestedFile(stream)
        digest = file.sha256()
        return file.bytes, digest
