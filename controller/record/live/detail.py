"""How much of a run is drawn, for terminals of different heights."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from controller.record.live.run_view import KEPT_DECISIONS, KEPT_NOTES, KEPT_STEPS


@dataclass(frozen=True)
class Detail:
    """How much of a run is drawn."""

    flavors: int
    """Rows of the fleet's table."""
    steps: int
    """Steps of the last move."""
    decisions: int
    notes: int
    is_wrapped: bool = True
    """Whether a text that is too long goes on in the next line, or is cut."""
    has_ended_move: bool = True
    """Whether a move is drawn that has ended."""

    def text(self, text: str) -> Text:
        """Returns the text, wrapped or cut."""
        return Text(text) if self.is_wrapped else Text(text, no_wrap=True, overflow="ellipsis")


DETAILS = (
    Detail(24, KEPT_STEPS, KEPT_DECISIONS, KEPT_NOTES),
    Detail(16, KEPT_STEPS, 3, 1),
    Detail(12, 3, 2, 1),
    Detail(12, 2, 1, 0),
    Detail(12, 2, 2, 1, is_wrapped=False),
    Detail(9, 2, 1, 0, is_wrapped=False),
    Detail(6, 1, 1, 0, is_wrapped=False),
    Detail(6, 1, 1, 0, is_wrapped=False, has_ended_move=False),
    Detail(2, 1, 1, 0, is_wrapped=False, has_ended_move=False),
)
"""From everything to as much as a terminal of 24 lines, or fewer, has room for."""
