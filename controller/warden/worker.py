"""A worker's switch: it ends the worker when nobody is left who would."""

from __future__ import annotations

from collections.abc import Callable

from .groups import Groups
from .look import Look
from .memory import Signs
from .node import Node
from .verdict import Situation, Verdict, worker_verdict


class WorkerDuty:
    """What a worker's warden looks for and does."""

    def __init__(self, node: Node, groups: Groups, tell: Callable[[str], None]) -> None:
        self._node, self._groups, self._tell = node, groups, tell

    def signs(self) -> Signs:
        """Returns whether the head answers."""
        return Signs(head_answers=self._node.head_answers())

    def verdict(self, now: Situation) -> Verdict:
        """Returns whether the worker ends itself."""
        return worker_verdict(now)

    def watch(self, look: Look, now: Situation) -> None:
        """Does nothing: a worker trains."""

    def act(self, look: Look, now: Situation, verdict: Verdict) -> bool:
        """Ends the worker after a checkpoint. Every call may be repeated. Returns whether AWS took it."""
        self._node.stop("worker")
        return self._groups.end_worker(self._node.settings.instance_id)
