"""How far a log has been read: in which of its files, and where in that file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

HEAD_BYTES = 1024


@dataclass(frozen=True)
class Position:
    """A place in one file. A rotation renames the file, so the file is known by its inode and by how it begins.

    Attributes:
        inode: The file's number in its file system. A new file may get the number of a deleted one.
        offset: The bytes that have been read.
        head: The digest of the file's first `HEAD_BYTES` bytes, or of those that have been read where they are fewer.
        size: How large the file was when it was last looked at.
    """

    inode: int
    offset: int = 0
    head: str = ""
    size: int = 0

    @property
    def unread(self) -> int:
        """The bytes that were in the file at the last look and have not been read."""
        return max(0, self.size - self.offset)

    def is_in(self, inode: int, size: int, beginning: bytes) -> bool:
        """Returns whether this is a place in the file with that inode and size, which begins with these bytes."""
        return inode == self.inode and size >= self.offset and digest(beginning, self.offset) == self.head


def place(inode: int, size: int, beginning: bytes, offset: int = 0) -> Position:
    """Returns the place at an offset of a file. `beginning` holds its first `HEAD_BYTES` bytes."""
    return Position(inode, offset, digest(beginning, offset), size)


def digest(beginning: bytes, offset: int) -> str:
    """Returns the digest of how a file begins, as it is for a position at this offset."""
    return hashlib.sha256(beginning[: min(offset, HEAD_BYTES)]).hexdigest()[:16]
