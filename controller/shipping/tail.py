"""Reading a log that grows and is rotated: `worker.log`, which becomes `worker.log.1` and then `worker.log.2`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .position import HEAD_BYTES, Position, place

OLD_FILES = 2
"""How many files a rotation keeps beside the one that grows (`stdout_logfile_backups` of supervisor)."""
MOST_BYTES = 256 * 1024
"""How much is read at once. A longer line comes in parts."""


@dataclass(frozen=True)
class Line:
    """One line, without its end. `end` says how many bytes of this reading came up to its end."""

    content: bytes
    end: int


@dataclass(frozen=True)
class Reading:
    """What was read at once.

    Attributes:
        start: The place before the lines.
        lines: The lines.
        pending: The bytes after `start`, in all files.
        is_lost: Whether the place to read on from is in no file any more, so that lines may be missing before `start`.
        beginning: How the file of `start` begins.
    """

    start: Position
    lines: tuple[Line, ...]
    pending: int
    is_lost: bool
    beginning: bytes

    def after(self, end: int) -> Position:
        """Returns the place this many bytes after the start."""
        return place(self.start.inode, self.start.size, self.beginning, self.start.offset + end)


@dataclass(frozen=True)
class _File:
    stream: BinaryIO
    inode: int
    size: int
    beginning: bytes

    def at(self, offset: int) -> Position:
        """Returns the place at an offset."""
        return place(self.inode, self.size, self.beginning, offset)

    def has(self, position: Position) -> bool:
        """Returns whether this is the file of a position."""
        return position.is_in(self.inode, self.size, self.beginning)


class Tail:
    """A log, by the path of the file that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, position: Position | None) -> Reading | None:
        """Reads on from a position; from the oldest file on where there is none. Returns None where there is no log.

        Raises:
            OSError: The log can't be read.
        """
        with ExitStack() as stack:
            files = list(self._open(stack))[::-1]
            if not files:
                return None
            known = [n for n, file in enumerate(files) if position is not None and file.has(position)]
            index, offset = (known[0], position.offset) if known and position else (0, 0)
            while index + 1 < len(files) and offset >= files[index].size:
                index, offset = index + 1, 0
            file = files[index]
            pending = file.size - offset + sum(newer.size for newer in files[index + 1 :])
            lines = _lines(file, offset, is_whole=index + 1 < len(files))
            return Reading(file.at(offset), lines, pending, position is not None and not known, file.beginning)

    def _open(self, stack: ExitStack) -> Iterator[_File]:
        """Yields the files of the log, the newest one first.

        A rotation meanwhile moves files in the same direction. So one may be met twice, and none is passed over.
        """
        seen: set[int] = set()
        for number in range(OLD_FILES + 1):
            path = self.path.with_name(f"{self.path.name}.{number}") if number else self.path
            try:
                stream = stack.enter_context(path.open("rb"))
            except FileNotFoundError:
                continue
            status = os.fstat(stream.fileno())
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                yield _File(stream, status.st_ino, status.st_size, stream.read(HEAD_BYTES))


def _lines(file: _File, offset: int, is_whole: bool) -> tuple[Line, ...]:
    """Returns the lines after an offset. The last one may lack its end where the file is whole, or the line is long."""
    file.stream.seek(offset)
    content = file.stream.read(min(MOST_BYTES, file.size - offset))
    *ended, rest = content.split(b"\n")
    lines, end = [], 0
    for line in ended:
        end += len(line) + 1
        lines.append(Line(line.rstrip(b"\r"), end))
    is_at_the_end = is_whole and offset + len(content) == file.size
    if rest and (is_at_the_end or (len(content) == MOST_BYTES and not lines)):
        lines.append(Line(rest, end + len(rest)))
    return tuple(lines)
