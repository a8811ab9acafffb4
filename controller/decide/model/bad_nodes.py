"""Nodes that are far slower than their flavor: which of them run, and by how much they slow a step down."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.speeds import Speed
from controller.domain import Fleet, Observation
from controller.domain.batches import Batches

BadNodes = Mapping[str, Mapping[str, float]]
"""By flavor: the instances that run and are far slower, slowest first, each with its share of the flavor's speed."""


def running_bad_nodes(speeds: Mapping[str, Speed], observations: Sequence[Observation]) -> BadNodes:
    """Returns the bad nodes that report in the last of the observations, if there is any."""
    running = {fact.instance_id for last in observations[-1:] for fact in last.facts}
    found = {f: {n: s for n, s in speed.bad_nodes.items() if n in running} for f, speed in speeds.items()}
    return {f: dict(sorted(nodes.items(), key=lambda node: node[1])) for f, nodes in found.items() if nodes}


def without(bad_nodes: BadNodes, ended: Collection[str]) -> BadNodes:
    """Returns the bad nodes that are left once some of them have ended."""
    return {f: {node: share for node, share in nodes.items() if node not in ended} for f, nodes in bad_nodes.items()}


def held_up_s(model: FleetModel, bad_nodes: BadNodes, current: Fleet, target: Fleet) -> float:
    """Returns the seconds that the bad nodes which `target` keeps add to a step of it."""
    kept = [(flavor, share) for flavor in bad_nodes for share in _kept(bad_nodes[flavor], flavor, current, target)]
    if not kept:
        return 0.0
    sound = model.speed(target)
    if model.batches is Batches.EQUAL:
        slowed = min(sound, target.size * min(share * model.tokens_per_s[flavor] for flavor, share in kept))
    else:
        slowed = sound - sum((1 - share) * model.tokens_per_s[flavor] for flavor, share in kept)
    return model.tokens_per_step * (1 / slowed - 1 / sound)


def _kept(nodes: Mapping[str, float], flavor: str, current: Fleet, target: Fleet) -> list[float]:
    """Returns the shares of speed of the bad nodes that `target` keeps: the slowest of a flavor end first."""
    leaving = max(0, current.count(flavor) - target.count(flavor))
    return list(nodes.values())[leaving : leaving + target.count(flavor)]
