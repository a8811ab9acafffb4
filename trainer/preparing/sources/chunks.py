"""Cutting raw text into chunks of so many lines. Where a chunk begins does not depend on who works on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from trainer.preparing.errors import PreparationError
from trainer.preparing.sources.decompressing import TORN
from trainer.preparing.sources.listing import Text
from trainer.preparing.sources.opening import DigestedFile, opened
from trainer.preparing.sources.parquet import rows_of

CHUNK_LINES = 8_192


@dataclass(frozen=True)
class RawChunk:
    """Some lines of a text, as they were read.

    Attributes:
        text: The text that they are from.
        first: The number of the first line, from 1.
        lines: The lines: of the source file and of the target file, or of a table in TSV, or the two columns of a
            table in Parquet.
    """

    text: Text
    first: int
    lines: tuple[list[bytes], ...]


@dataclass(frozen=True)
class ReadFile:
    """A file that was read to its end: its name, its size and the SHA-256 of its content in hex."""

    name: str
    bytes: int
    sha256: str


def chunks_of(text: Text, read: list[ReadFile]) -> Iterator[RawChunk]:
    """Yields the chunks of a text in their order.

    Args:
        text: The text.
        read: The list to which its files are added when they have been read to their end.

    Raises:
        PreparationError: A file is missing, torn, or has no line for a line of the other file.
        StorageError: S3 does not answer.
    """
    with ExitStack() as stack:
        files = [(name, *stack.enter_context(opened(name))) for name in text.files]
        if text.kind == "parquet":
            yield from _chunks_of_table(text, files[0][1])
        else:
            yield from _chunks_of_lines(text, [(name, lines) for name, lines, _ in files])
        read += [_read_to_end(name, file) for name, _, file in files]


def _chunks_of_lines(text: Text, files: list[tuple[str, BinaryIO]]) -> Iterator[RawChunk]:
    first = 1
    while True:
        sides = tuple(_next_lines(name, file, first) for name, file in files)
        _check_lengths(text, first, sides)
        if not sides[0]:
            return
        yield RawChunk(text, first, sides)
        first += len(sides[0])


def _next_lines(name: str, file: BinaryIO, first: int) -> list[bytes]:
    lines: list[bytes] = []
    try:
        lines.extend(itertools.islice(file, CHUNK_LINES))
    except TORN as error:
        raise PreparationError(
            f"{name} is torn or damaged: it cannot be read after line {first - 1 + len(lines)} ({error})"
        ) from error
    return lines


def _check_lengths(text: Text, first: int, sides: tuple[list[bytes], ...]) -> None:
    if len({len(side) for side in sides}) == 1:
        return
    shorter = min(range(len(sides)), key=lambda side: len(sides[side]))
    ended, other = text.files[shorter], text.files[1 - shorter]
    raise PreparationError(
        f"{ended} ends before line {first + len(sides[shorter])}, which {other} still has: the files are not parallel"
    )


def _chunks_of_table(text: Text, file: BinaryIO) -> Iterator[RawChunk]:
    first = 1
    for source, target in rows_of(text.files[0], file, (text.columns[0], text.columns[1]), CHUNK_LINES):
        yield RawChunk(text, first, (source, target))
        first += len(source)


def _read_to_end(name: str, file: DigestedFile) -> ReadFile:
    digest = file.sha256()
    return ReadFile(name, file.bytes, digest)
