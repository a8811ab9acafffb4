"""The events of a run: the steps of its moves, and notes for people."""

from __future__ import annotations

from typing import Any

from controller.record.journal.table import Table

MOST_CHARACTERS = 4000
"""What a program says when it fails may be very long, and the loop may tell it in every pass. Logs have all of it."""


class EventTable(Table):
    """The table `events`."""

    def add_event(self, at: float, kind: str, message: str, move_id: int | None = None) -> None:
        """Keeps an event. `kind` is the phase of the move `move_id`, or `note`, or `proposal`.

        Of a message of more than `MOST_CHARACTERS` the beginning is kept.
        """
        row = (at, move_id, kind, _shortened(message))
        self._may_write("events", ("INSERT INTO events (at, move_id, kind, message) VALUES (?, ?, ?, ?)", row))

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Returns the events after a number, oldest first: id (their number), at, move_id, kind, message."""
        rows = self._database.execute("SELECT * FROM events WHERE id > ? ORDER BY id", (after,))
        return [dict(row) for row in rows]


def _shortened(message: str) -> str:
    left_out = len(message) - MOST_CHARACTERS
    return message if left_out <= 0 else f"{message[:MOST_CHARACTERS]} ... ({left_out:,} more characters)"
