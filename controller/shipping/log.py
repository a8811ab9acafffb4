"""One log on its way to CloudWatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from .batches import Dated, Event, first_batch
from .marks import Mark, Marks
from .position import Position
from .sending import Sender
from .tail import Reading, Tail


@dataclass(frozen=True)
class Source:
    """A log: its name in the state, the file that grows, and whose log it is now, as the name of a log stream."""

    name: str
    path: Path
    stream: Callable[[], str]


@dataclass(frozen=True)
class Kept:
    """What outlives the shipper of a log.

    Attributes:
        position: The place up to which everything has been sent.
        sent: The bytes before this place.
        marks: When the bytes after it appeared.
        missing: How many bytes at least were rotated away unread, which nobody was told yet; None where none were.
    """

    position: Position | None = None
    sent: int = 0
    marks: tuple[Mark, ...] = ()
    missing: int | None = None


class Log:
    """One log: how far it was sent, and what has appeared since."""

    def __init__(self, source: Source, kept: Kept) -> None:
        self.source = source
        self._tail = Tail(source.path)
        self._position, self._sent, self._missing = kept.position, kept.sent, kept.missing
        self._marks = Marks(list(kept.marks))

    @property
    def kept(self) -> Kept:
        """What a later shipper goes on from."""
        return Kept(self._position, self._sent, self._marks.kept, self._missing)

    def look(self, now: float) -> bool:
        """Notes what has appeared in the log. Returns whether that is news. Raises OSError."""
        reading = self._tail.read(self._position)
        if reading is None:
            return False
        if self._position is not None and reading.is_lost:
            self._missing = (self._missing or 0) + self._position.unread
            self._sent = max([self._sent, *(mark.end for mark in self._marks.kept)])
        has_moved = self._go_to(reading.start)
        return self._marks.see(self._sent + reading.pending, now, self.source.stream()) or has_moved

    def send(self, sender: Sender) -> bool:
        """Sends what one call takes. Returns whether there was anything to send, or a newer file to go on with.

        Raises:
            NotTakenError: CloudWatch takes nothing now. What was not sent stays to be sent.
            OSError: The log can't be read.
        """
        reading = self._tail.read(self._position)
        if reading is None or reading.is_lost:
            return False
        if not reading.lines:
            return self._go_to(reading.start)
        lines = self._dated(reading)
        self._tell_missing(sender, lines[0])
        batch = first_batch(lines)
        refused = sender.send(batch.stream, batch.events) if batch.events else 0
        self._position, self._sent = reading.after(batch.end), self._sent + batch.end
        self._marks.forget(self._sent)
        if refused:
            self._note(sender, lines[0], f"CloudWatch refused {refused} of the lines before this one")
        return True

    def _go_to(self, start: Position) -> bool:
        """Goes to where reading goes on: the same place, or the start of a newer file. Returns whether it is newer."""
        has_moved = self._position is not None and self._position.inode != start.inode
        if self._position is not None:
            self._position = start
        return has_moved

    def _dated(self, reading: Reading) -> list[Dated]:
        """Returns the lines with time and stream. A clock that was set back does not let their times go back."""
        marks = [self._marks.of(self._sent + line.end) for line in reading.lines]
        times = accumulate((mark.at for mark in marks), max)
        given = zip(reading.lines, times, marks, strict=True)
        return [Dated(line.content, at, mark.stream, line.end) for line, at, mark in given]

    def _tell_missing(self, sender: Sender, line: Dated) -> None:
        if self._missing is not None:
            amount = f"at least {self._missing} bytes are" if self._missing else "lines may be"
            self._note(sender, line, f"{amount} missing here: the log was rotated or cut before they were sent")
            self._missing = None

    def _note(self, sender: Sender, line: Dated, text: str) -> None:
        """Sends a line of the shipper's own into the log."""
        sender.send(line.stream, [Event(round(line.at * 1000), f"[centavo] {self.source.name}: {text}")])
