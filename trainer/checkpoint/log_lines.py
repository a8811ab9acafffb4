"""The lines of a log that is copied at every commit, while the training adds lines to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

Line = Mapping[str, Any]


class LogLines(Sequence[Line]):
    """Lines that are added at the end and never changed. A copy costs the same for any number of lines.

    All copies share one list, and each copy knows how many lines of it are its own. A copy that adds a line where
    another copy has added one already takes a list of its own first: so it is after a training went back.

    Each line is turned into JSON once, when it is added.
    """

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self._shared: list[tuple[Line, str]] = []
        self._length = 0
        for line in lines:
            self.append(line)

    @classmethod
    def parse(cls, text: str) -> LogLines:
        """Returns the lines of which `text` is the `text()`."""
        return cls(json.loads(line) for line in text.splitlines())

    def append(self, line: Line) -> None:
        """Adds a line. It must not be changed from now on."""
        if len(self._shared) != self._length:
            self._shared = self._shared[: self._length]
        self._shared.append((line, json.dumps(line) + "\n"))
        self._length += 1

    def copy(self) -> LogLines:
        """Returns a copy, which later lines do not change."""
        copied = LogLines()
        copied._shared, copied._length = self._shared, self._length
        return copied

    def text(self) -> str:
        """Returns the lines as JSON Lines."""
        return "".join(text for _, text in self._shared[: self._length])

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        places = range(self._length)[index]
        return self._shared[places][0] if isinstance(places, int) else [self._shared[place][0] for place in places]

    def __iter__(self) -> Iterator[Line]:
        return iter(self[:])

    def __reduce__(self) -> tuple[type[LogLines], tuple[list[Line]]]:
        return LogLines, (self[:],)
