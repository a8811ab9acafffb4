"""What is wanted of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.fleet import NO_NODES, Fleet
from controller.domain.move import Move, MovePhase


@dataclass(frozen=True)
class Goal:
    """What is wanted of the cluster. Nothing else is remembered from one pass to the next.

    Attributes:
        target: The fleet that is to train. With no nodes, everything is to be given back.
        source: The fleet that trains on until the target trains. No nodes at the start of a run.
        way_back: Whether the source is still whole, so that the target may be given up. From the moment that the first
            node is let go there is only forward.
    """

    target: Fleet
    source: Fleet = NO_NODES
    way_back: bool = False
    taken: Fleet = NO_NODES
    """The nodes of the source that EC2 takes back. The target has others in their place."""


def goal_of(move: Move) -> Goal:
    """Returns what a move that is under way wants now. A move that is undone wants its source again."""
    if move.outcome_reason is not None:
        return Goal(move.source)
    return Goal(move.target, move.source, way_back=move.phase is not MovePhase.SHRINKING, taken=move.taken)
