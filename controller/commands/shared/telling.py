"""What a command tells a person and the run remembers."""

from __future__ import annotations

from collections.abc import Iterable

from controller.commands.context import Context
from controller.record.journal import Journal


def tell_all(context: Context, journal: Journal, lines: Iterable[str]) -> None:
    """Prints these lines, and keeps them in the journal as notes."""
    for line in lines:
        journal.add_event(context.clock.now(), "note", line)
        print(f"{line}.")
