"""When each node began to train, and when it was seen last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.domain import Move, Observation, Progress


def began_to_train(
    observations: Sequence[Observation], moves: Iterable[Move], progress: Progress | None
) -> dict[str, float]:
    """Returns by instance when it began to train, seconds since the epoch.

    A node that joined in a move began when that move ended. Nodes of the first observation that is kept began with the
    training, and all others when they were first seen.
    """
    first = None if progress is None else progress.started_at
    began: dict[str, float] = {}
    for number, observation in enumerate(observations):
        at = observation.at if number or first is None else min(first, observation.at)
        for fact in observation.facts:
            began.setdefault(fact.instance_id, at)
    joined = {node: move.changed_at for move in moves for node in move.grown}
    return {node: joined.get(node, at) for node, at in began.items()}


def last_seen(observations: Sequence[Observation]) -> dict[str, float]:
    """Returns by instance when its last fact was seen, seconds since the epoch."""
    return {fact.instance_id: observation.at for observation in observations for fact in observation.facts}
