"""What a move leaves behind at each of its steps: its row in the journal, and a line for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from controller.domain import Fleet, Move, MovePhase
from controller.domain.reasons import Reason
from controller.edges.clock import Clock
from controller.words.reasons import reason_in_words


@dataclass(frozen=True)
class Track:
    """Keeps a move as it goes on, and reports it to people.

    Attributes:
        save: Writes the move's row in the journal.
        tell: Reports a step to people.
    """

    clock: Clock
    save: Callable[[Move], None]
    tell: Callable[[Move, str], None]
    _told: list[str] = field(default_factory=list)
    """The last thing that was told."""

    def tell_once(self, move: Move, note: str) -> None:
        """Tells people something about a move, unless it is what they were told last."""
        if self._told != [note]:
            self._told[:] = [note]
            self.tell(move, note)

    def keep(self, move: Move) -> Move:
        """Saves the move and returns it."""
        self.save(move)
        return move

    def enter(self, move: Move, phase: MovePhase, note: str) -> Move:
        """Returns the move in its next phase, saved and reported."""
        move = self.keep(replace(move, phase=phase))
        self.tell(move, note)
        return move

    def leave_out(self, rest: Move, nodes: Fleet, reason: Reason) -> Move:
        """Returns the rest of a move that goes on without some nodes, saved and reported."""
        self.tell(self.keep(rest), f"going on without {nodes}: {reason_in_words(reason)}")
        return rest

    def turn_back(self, move: Move, reason: Reason) -> Move:
        """Returns the move as one that is being rolled back, saved and reported."""
        move = self.keep(replace(move, outcome_reason=reason))
        self.tell(move, f"rolling back: {reason_in_words(reason)}")
        return move

    def end(self, move: Move, phase: MovePhase, reason: Reason | None) -> Move:
        """Returns the move as it ended, saved and reported."""
        move = self.keep(replace(move, phase=phase, outcome_reason=reason, ended_at=self.clock.now()))
        self.tell(move, reason_in_words(reason) if reason else f"the fleet is {move.target}")
        return move
