"""Decompressing a file: gzip, bzip2, xz or zstd, in one member or in several, one after another.

Python's own files of bzip2 and xz take a member that is damaged for the end of the text. These do not.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO, Protocol

from trainer.preparing.errors import PreparationError

BUFFER_BYTES = 1 << 20
BLOCK_BYTES = 1 << 16
"""Compressed bytes that are decompressed at once: text becomes ten times as large, and the worst file a thousand."""
TORN = (EOFError, OSError)
"""What reading a file raises that is torn or damaged."""
GZIP_BITS = 31
"""What zlib calls a member of gzip, with its header and its checksum."""


class Member(Protocol):
    """The decompressor of one member of a file."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What follows the member."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """Returns the text of the next bytes."""
        ...


class Decompressed(io.RawIOBase):
    """The text of a compressed file.

    Args:
        file: The file.
        begin: Returns the decompressor of a new member.
        damaged: What a decompressor raises.
    """

    def __init__(self, file: BinaryIO, begin: Callable[[], Member], damaged: tuple[type[Exception], ...]) -> None:
        self._file, self._begin, self._damaged = file, begin, damaged
        self._member: Member | None = None
        self._rest, self._text = b"", memoryview(b"")

    def readable(self) -> bool:
        """Returns that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads the next bytes. Raises EOFError where the file ends within a member, and OSError where it is damaged.

        Zeros between members and after the last one are padding.
        """
        while not self._text:
            data = self._rest or self._file.read(BLOCK_BYTES)
            if not data:
                if self._member is not None:
                    raise EOFError("the file ends before its compressed text does")
                return 0
            self._take(data if self._member is not None else data.lstrip(b"\0"))
        taken = self._text[: len(buffer)]
        buffer[: len(taken)] = taken
        self._text = self._text[len(taken) :]
        return len(taken)

    def _take(self, data: bytes) -> None:
        self._rest = b""
        if not data:
            return
        member = self._member or self._begin()
        try:
            self._text = memoryview(member.decompress(data))
        except self._damaged as error:
            raise OSError(str(error)) from error
        self._member = None if member.eof else member
        if member.eof:
            self._rest = member.unused_data


def decompressed(name: str, file: io.BufferedReader) -> BinaryIO:
    """Returns the text of a file, whatever it is compressed with. Its first bytes tell.

    Args:
        name: The file's name, for messages.
        file: Its content.

    Raises:
        PreparationError: A package is missing that decompresses it.
    """
    start = file.peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        return _text_of(file, lambda: zlib.decompressobj(GZIP_BITS), zlib.error)
    if start.startswith(b"BZh"):
        return _text_of(file, bz2.BZ2Decompressor, OSError)
    if start.startswith(b"\xfd7zXZ\x00"):
        return _text_of(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), lzma.LZMAError)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        zstd = _zstandard(name)
        return _text_of(file, lambda: zstd.ZstdDecompressor().decompressobj(), zstd.ZstdError)
    return file


def _text_of(file: BinaryIO, begin: Callable[[], Any], damaged: type[Exception]) -> BinaryIO:
    return io.BufferedReader(Decompressed(file, begin, (damaged,)), BUFFER_BYTES)


def _zstandard(name: str) -> Any:
    try:
        return import_module("zstandard")
    except ImportError as error:
        raise PreparationError(
            f"{name} is compressed by zstd, which needs the package zstandard: make setup TEXT=1, or "
            "pip install zstandard"
        ) from error
