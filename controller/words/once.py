"""Saying a thing once."""

from __future__ import annotations

from collections.abc import Callable


class Once:
    """Tells people a message, unless it is the one that they were told last: each pass finds the same things again."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._last: str | None = None

    def __call__(self, message: str) -> None:
        """Tells the message if it is new."""
        if message != self._last:
            self._last = message
            self._tell(message)
