"""When the bytes of a log appeared, and whose they were: its lines may be sent much later, by another process."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

MOST_MARKS = 400


@dataclass(frozen=True)
class Mark:
    """All bytes up to a place were there at a time.

    Attributes:
        end: The place, in bytes since the log was first read.
        at: The time, in seconds since the epoch.
        stream: The log stream that the bytes before this mark, and after the one before it, belong to.
    """

    end: int
    at: float
    stream: str


class Marks:
    """The marks of the bytes that have not been sent, oldest first."""

    def __init__(self, marks: list[Mark]) -> None:
        self._marks = marks

    @property
    def kept(self) -> tuple[Mark, ...]:
        """All marks."""
        return tuple(self._marks)

    def see(self, end: int, at: float, stream: str) -> bool:
        """Notes that the log reaches to `end` now. Returns whether that is news."""
        if end <= (self._marks[-1].end if self._marks else 0):
            return False
        self._marks.append(Mark(end, at, stream))
        if len(self._marks) > MOST_MARKS:
            del self._marks[:-1:2]
        return True

    def of(self, end: int) -> Mark:
        """Returns the mark of a line that ends there."""
        return self._marks[min(bisect_left(self._marks, end, key=lambda mark: mark.end), len(self._marks) - 1)]

    def forget(self, sent: int) -> None:
        """Drops the marks of what has been sent, but for the last one."""
        while len(self._marks) > 1 and self._marks[0].end <= sent:
            del self._marks[0]
