"""What a rank and its launcher tell each other besides Horovod's own traffic: one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from typing import Any, Protocol


class Link(Protocol):
    """A way to tell the launcher something."""

    def send(self, event: str, **details: Any) -> None:
        """Tell it; a launcher that is gone is no error here."""
        ...


class NoLink:
    """For a training without our launcher: plain Horovod, or a single process."""

    def send(self, event: str, **details: Any) -> None:
        """Nobody listens."""


class StreamLink:
    """Writes lines through `write`, from any thread."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._lock = threading.Lock()

    def send(self, event: str, **details: Any) -> None:
        """One line; a closed stream is passed over."""
        line = json.dumps({"event": event, **details}).encode() + b"\n"
        with self._lock, contextlib.suppress(OSError):
            self._write(line)


def parse(line: bytes | str) -> dict[str, Any] | None:
    """The object of one line, None for a line that is none (ssh's own messages, for one)."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
