"""How long what has failed is left alone: twice as long after each further failure, up to a day (spot: an hour)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from controller.domain import Fleet, Market, Move, MovePhase

LONGEST_S = 86400.0
LONGEST_ON_SPOT_S = 3600.0
"""The capacity of a spot pool comes and goes within hours."""


def longest_s(markets: Iterable[Market]) -> float:
    """Returns for how long flavors of these markets are left alone at most, in seconds."""
    return LONGEST_ON_SPOT_S if Market.SPOT in markets else LONGEST_S


def backoff_s(first_s: float, failures: int, most_s: float = LONGEST_S) -> float:
    """Returns how long to wait, in seconds.

    Args:
        first_s: How long to wait after the first failure.
        failures: The number of failures in a row, at least one.
        most_s: How long to wait at most, unless the first wait is longer. It is never longer than a day.
    """
    doublings = min(failures - 1, 32)
    return min(LONGEST_S, max(first_s, most_s), first_s * 2.0**doublings)


def failures_to_grow(flavor: str, moves: Sequence[Move]) -> int:
    """Returns how often in a row moves to more nodes of a flavor were undone, or went on without it.

    `moves` are oldest first.
    """
    wanted = [move for move in moves if move.added.plus(move.left_out).count(flavor)]
    return len(_failed_in_a_row(wanted, lambda move: not move.left_out.count(flavor)))


def retry_at(target: Fleet, moves: Sequence[Move], first_s: float, most_s: float = LONGEST_S) -> float | None:
    """Returns from when on a fleet may be moved to again (seconds since the epoch).

    Returns None where the last move to it was neither undone nor refused. `moves` are oldest first. `most_s` is the
    longest wait after a move that was undone; what a person has refused may wait for a day.
    """
    failed = _failed_in_a_row([move for move in moves if move.target == target])
    if not failed:
        return None
    longest = most_s if failed[0].phase is MovePhase.ROLLED_BACK else LONGEST_S
    return failed[0].changed_at + backoff_s(first_s, len(failed), longest)


def _failed_in_a_row(moves: Sequence[Move], is_whole: Callable[[Move], bool] = lambda move: True) -> list[Move]:
    """Returns the last of these moves that failed, newest first, back to one that was done and is whole."""
    failed: list[Move] = []
    for move in reversed(moves):
        if move.phase is MovePhase.DONE and is_whole(move):
            break
        if move.phase.is_final:
            failed.append(move)
    return failed
