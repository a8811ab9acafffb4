"""What a run has seen of its spot pools: when each had capacity, by its moves and by what EC2 has taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.decide.deadlines.seen import Seen
from controller.domain import History, MovePhase, NoticeKind


def seen_of(available: Mapping[str, bool], history: History, began_at: float, now: float) -> Seen:
    """Returns what was seen of the pools. A pool counts as one that has capacity until something else was seen.

    Args:
        available: By flavor, whether its pool has capacity now, as far as is known.
        history: The moves of the run and the notices of its nodes.
        began_at: When the run began (seconds since the epoch).
        now: The present (seconds since the epoch).
    """
    is_up = dict.fromkeys(available, True)
    seen, at = Seen().after(is_up.values(), 0.0), began_at
    for when, flavor, has_capacity in sorted(_events(history)):
        if flavor in is_up and at <= when <= now:
            is_up[flavor] = has_capacity
            seen, at = seen.after(is_up.values(), when - at), when
    return seen.after(available.values(), max(0.0, now - at))


def _events(history: History) -> Iterator[tuple[float, str, bool]]:
    """Yields when a pool was seen to have capacity, or to have none."""
    for noticed in history.noticed:
        if noticed.kind is NoticeKind.INTERRUPTION:
            yield noticed.at, noticed.flavor, False
    for move in history.moves:
        if move.ended_at is not None and move.phase in (MovePhase.DONE, MovePhase.ROLLED_BACK):
            for flavor in move.added.present:
                yield move.ended_at, flavor, move.phase is MovePhase.DONE
            for flavor in move.left_out.present:
                yield move.ended_at, flavor, False
