"""How fast nodes became usable, in words: one line for each flavor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from controller.domain import Instance


def prepared(nodes: Iterable[Instance], began: float, ended: float) -> list[str]:
    """Returns how long preparing took, and how long after their launch the nodes were warm. Times are of the epoch."""
    return [
        f"{who} prepared in {ended - began:.0f} s{_since_launch('; warm', group, ended)}"
        for who, group in _by_flavor(nodes)
    ]


def answering(nodes: Iterable[Instance], began: float, now: float) -> list[str]:
    """Returns how long after their launch nodes answer. Nodes that ran before `began` are left out."""
    new = [node for node in nodes if node.launched_at is not None and node.launched_at >= began]
    return [f"{who}{_since_launch(' answer', group, now)}" for who, group in _by_flavor(new)]


def _by_flavor(nodes: Iterable[Instance]) -> list[tuple[str, list[Instance]]]:
    groups: dict[str, list[Instance]] = defaultdict(list)
    for node in nodes:
        groups[node.flavor].append(node)
    return [(f"{len(group)} x {flavor}", group) for flavor, group in sorted(groups.items())]


def _since_launch(what: str, nodes: Iterable[Instance], now: float) -> str:
    ages = sorted(round(now - node.launched_at) for node in nodes if node.launched_at is not None)
    if not ages:
        return ""
    span = f"{ages[0]} s" if ages[0] == ages[-1] else f"{ages[0]} to {ages[-1]} s"
    return f"{what} after launch: {span}"
