"""Nodes that are left alone for a while, since they could not be made workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controller.act.backoff import backoff_s
from controller.edges.clock import Clock


@dataclass(frozen=True)
class _Failed:
    times: int
    until: float
    said: str


class Aside:
    """The nodes that are set aside: for twice as long after each further failure.

    A controller that begins anew knows of none, and so tries each node again.
    """

    def __init__(self, clock: Clock, first_s: float) -> None:
        self._clock, self._first_s = clock, first_s
        self._failed: dict[str, _Failed] = {}

    def put(self, nodes: Iterable[str], said: str) -> None:
        """Sets nodes (instance ids) aside, with what went wrong."""
        for node in nodes:
            times = self._failed[node].times + 1 if node in self._failed else 1
            self._failed[node] = _Failed(times, self._clock.now() + backoff_s(self._first_s, times), said)

    def now(self) -> dict[str, str]:
        """Returns the nodes (instance ids) that are set aside now, and why."""
        now = self._clock.now()
        return {node: failed.said for node, failed in self._failed.items() if failed.until > now}
