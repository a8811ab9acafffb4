"""Makes what one pass sees from what EC2 says and what the nodes show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import (
    Fact,
    Fleet,
    HeadSeen,
    Instance,
    LauncherState,
    NodeSeen,
    NoticeKind,
    Observation,
    TrainingState,
    WorkerState,
)

_OUT_OF_SERVICE = (WorkerState.ABSENT, WorkerState.LEFT, WorkerState.DEAD)
_ENDED = (TrainingState.FINISHED, TrainingState.INTERRUPTED)
_MAY_TRAIN = (Standing.TRAINS, Standing.TRAINS_OTHERWISE, Standing.SILENT)
"""The standings of a node that EC2 takes back and that may still be a rank."""
_MAY_GET_A_RANK = (Standing.STARTING, Standing.WARM)
"""The standings of a member that the launcher makes a rank of without asking anybody."""
_NO_HOSTS: frozenset[str] = frozenset()


def see(
    workers: Sequence[Instance],
    observation: Observation,
    *,
    capacity: Fleet | None,
    drain_s: float,
    has_ended: bool = False,
    bad: Collection[str] = (),
    aside: Mapping[str, str] | None = None,
    dropped: Collection[str] = (),
    noticed: Mapping[str, NoticeKind] | None = None,
) -> Seen:
    """Returns what is seen.

    Args:
        workers: The workers that are pending or running, as EC2 says.
        observation: What the nodes show.
        capacity: What the Auto Scaling groups are set to; None where they were not asked.
        drain_s: After how many seconds a hosts file has had its time to take effect.
        has_ended: Whether the training has ended, so that its launcher needs no stop.
        bad: The nodes (instance ids) that a decision wants to lose.
        dropped: The nodes (instance ids) that were taken out for a fault.
        aside: The nodes (instance ids) that are left alone for a while, and why. They count as silent.
        noticed: The nodes (instance ids) that EC2 takes back, or may soon.
    """
    look = _Look(observation, frozenset(bad), frozenset(dropped), aside or {}, noticed or {})
    head = observation.head
    written_at = None if head is None else head.hosts_written_at
    is_old = written_at is not None and observation.at >= written_at + drain_s
    launcher = None if head is None else LauncherState.ENDED if has_ended else head.launcher
    return Seen(tuple(map(look.node, workers)), launcher, len(_hosts(head)), capacity, is_old)


class _Look:
    """What the nodes show, by instance id."""

    def __init__(
        self,
        observation: Observation,
        bad: frozenset[str],
        dropped: frozenset[str],
        aside: Mapping[str, str],
        noticed: Mapping[str, NoticeKind],
    ) -> None:
        self._noticed = noticed
        self._head, self._bad, self._dropped, self._aside = observation.head, bad, dropped, aside
        self._facts = {fact.instance_id: fact for fact in observation.facts}
        self._shown = {node.instance_id: node for node in observation.nodes}
        self._said = {**observation.silent, **aside}

    def node(self, worker: Instance) -> SeenNode:
        """Returns what is seen of a worker."""
        node, is_member = worker.instance_id, worker.private_ip in _hosts(self._head)
        fact, shown = self._facts.get(node), None if node in self._aside else self._shown.get(node)
        standing = _standing(worker, shown, fact, self._head, is_member)
        return SeenNode(
            node,
            worker.flavor,
            standing,
            is_member=is_member,
            rank=None if fact is None else fact.rank,
            leaves_first=node in self._bad,
            is_dropped=node in self._dropped or self._has_left_for_good(node, standing, is_member),
            is_doomed=node in self._noticed,
            launched_at=worker.launched_at,
            said=(fact.reason or "") if fact is not None else self._said.get(node, ""),
        )

    def _has_left_for_good(self, node: str, standing: Standing, is_member: bool) -> bool:
        """Returns whether EC2 takes a node back whose rank has left, so that none begins there again.

        A member whose worker warms up or is warm may have a rank of which nothing is known, or get one at any moment:
        so it is after the launcher was started again.
        """
        may_train = standing in _MAY_TRAIN or (is_member and standing in _MAY_GET_A_RANK)
        return self._noticed.get(node) is NoticeKind.INTERRUPTION and not may_train


def _hosts(head: HeadSeen | None) -> frozenset[str]:
    return _NO_HOSTS if head is None or head.hosts is None else head.hosts


def _standing(
    worker: Instance, shown: NodeSeen | None, fact: Fact | None, head: HeadSeen | None, is_member: bool
) -> Standing:
    if not worker.is_running:
        return Standing.PENDING
    if shown is None:
        return Standing.SILENT
    if shown.worker in _OUT_OF_SERVICE:
        return Standing.ENDED if fact is not None and fact.state in _ENDED else Standing.COLD
    if fact is not None and fact.state is TrainingState.FAILED and is_member and _is_later(fact, head):
        return Standing.FAILED
    if fact is not None and fact.state is TrainingState.TRAINING:
        return Standing.TRAINS if _is_together(fact, head) else Standing.TRAINS_OTHERWISE
    return Standing.STARTING if shown.worker is WorkerState.STARTING else Standing.WARM


def _is_together(fact: Fact, head: HeadSeen | None) -> bool:
    """Returns whether a rank trains in the world of the hosts file, in a fact that is later than the file."""
    return fact.world_size == len(_hosts(head)) and _is_later(fact, head)


def _is_later(fact: Fact, head: HeadSeen | None) -> bool:
    """Returns whether a fact is not known to be older than the hosts file."""
    written_at = None if head is None else head.hosts_written_at
    return written_at is None or fact.updated_at >= written_at
