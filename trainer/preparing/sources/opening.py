"""Opening a file on this machine or in S3, whatever it is compressed with. Its first bytes tell."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from trainer.preparing.errors import PreparationError
from trainer.storage.opening import open_storage

BUFFER_BYTES = 1 << 20
TORN = (EOFError, OSError, lzma.LZMAError)
"""What reading a file raises that is torn or damaged. gzip's and bzip2's errors are EOFError and OSError."""


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
        yield _decompressed(name, io.BufferedReader(file, BUFFER_BYTES)), file
    finally:
        file.close()


def _decompressed(name: str, file: io.BufferedReader) -> BinaryIO:
    start = file.peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), BUFFER_BYTES))
    if start.startswith(b"BZh"):
        return cast(BinaryIO, bz2.BZ2File(file))
    if start.startswith(b"\xfd7zXZ\x00"):
        return cast(BinaryIO, lzma.LZMAFile(file))
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return io.BufferedReader(ZstdFile(name, file), BUFFER_BYTES)
    return file


class ZstdFile(io.RawIOBase):
    """The text of a file that is compressed by zstd, in one frame or several."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        try:
            self._zstd: Any = import_module("zstandard")
        except ImportError as error:
            raise PreparationError(
                f"{name} is compressed by zstd, which needs the package zstandard: make setup TEXT=1, or "
                "pip install zstandard"
            ) from error
        self._file, self._frame, self._rest, self._text = file, None, b"", b""

    def readable(self) -> bool:
        """Returns that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes. Raises EOFError where the file ends within a frame."""
        while not self._text:
            data = self._rest or self._file.read(BUFFER_BYTES)
            if not data:
                if self._frame is not None:
                    raise EOFError("the file ends within a frame of zstd")
                return 0
            self._take(data)
        taken = self._text[: len(buffer)]
        self._text = self._text[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _take(self, data: bytes) -> None:
        frame = self._frame or self._zstd.ZstdDecompressor().decompressobj()
        try:
            self._text, self._rest = frame.decompress(data), b""
        except self._zstd.ZstdError as error:
            raise OSError(str(error)) from error
        self._frame = None if frame.eof else frame
        if frame.eof:
            self._rest = frame.unused_data


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
