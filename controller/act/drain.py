"""Which instances leave the fleet."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from controller.domain import Fact, Instance, Move, MovePhase


def choose_drain(move: Move, workers: Sequence[Instance], facts: Sequence[Fact]) -> tuple[str, ...]:
    """Returns the ids of the instances that leave when a move shrinks the fleet.

    Of each flavor the surplus over the target leaves. Nodes of which nothing is known leave first, then those that the
    move names beforehand (bad nodes), then the highest ranks, so that rank 0 stays where it can.
    """
    ranks, bad = {fact.instance_id: fact.rank for fact in facts}, {*move.drain}
    leaving: list[str] = []
    for flavor in move.source.union(move.target):
        nodes = [i.instance_id for i in workers if i.flavor == flavor]
        surplus = max(0, len(nodes) - move.target.count(flavor))
        nodes.sort(key=lambda node: (ranks.get(node) is not None, node not in bad, -(ranks.get(node) or 0), node))
        leaving += nodes[:surplus]
    return tuple(leaving)


def added_by(move: Move, workers: Sequence[Instance], members: Collection[str]) -> set[str]:
    """Returns the ids of the instances that a move has added, which leave when the move is undone.

    While the move grows, its instances are not known by name yet: each worker that is no member counts as added.
    """
    strangers = {i.instance_id for i in workers if i.instance_id not in members}
    return {*move.grown} | (strangers if move.phase is MovePhase.GROWING else set())
