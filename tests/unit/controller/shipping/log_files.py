"""A log that is rotated as supervisor does it, and a CloudWatch that remembers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from controller.shipping.batches import Event
from controller.shipping.sending import NotTakenError


class LogFile:
    """`worker.log` and its older files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *lines: str) -> None:
        """Adds lines."""
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def rotate(self) -> None:
        """Renames the files; the oldest of three is deleted."""
        first, second = self.path.with_name(self.path.name + ".1"), self.path.with_name(self.path.name + ".2")
        if first.exists():
            first.replace(second)
        self.path.replace(first)
        self.path.touch()


class Remembering:
    """A sender that keeps what it got, unless it is out."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Event]] = []
        self.calls: list[int] = []
        self.is_out = False
        self.takes_calls: int | None = None

    def send(self, stream: str, events: Sequence[Event]) -> int:
        """Keeps the events."""
        if self.is_out or self.takes_calls == len(self.calls):
            raise NotTakenError("it is out")
        self.calls.append(len(events))
        self.got += [(stream, event) for event in events]
        return 0

    @property
    def messages(self) -> list[str]:
        """What was sent, in order."""
        return [event.message for _, event in self.got]
