"""What a rank and its launcher tell each other besides Horovod's own traffic: one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from typing import Any, Protocol


class Messenger(Protocol):
    """A way to tell the launcher something."""

    def send(self, event: str, **details: Any) -> None:
        """Tells the launcher of an event. A launcher that is gone is not an error."""
        ...


class Silent:
    """The messenger of a training that has no launcher of ours: under plain horovodrun, or in a single process."""

    def send(self, event: str, **details: Any) -> None:
        """Does nothing."""


class StreamMessenger:
    """Writes lines through `write`, from any thread."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._lock = threading.Lock()

    def send(self, event: str, **details: Any) -> None:
        """Writes one line. A closed stream is not an error."""
        line = json.dumps({"event": event, **details}).encode() + b"\n"
        with self._lock, contextlib.suppress(OSError):
            self._write(line)


def parse(line: bytes | str) -> dict[str, Any] | None:
    """Returns the object of one line, or None where it has none: SSH's own messages come in between."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):  # RecursionError: brackets in brackets, a thousand deep
        return None
    return message if isinstance(message, dict) else None
