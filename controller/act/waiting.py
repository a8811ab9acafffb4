"""Waiting for nodes, never without a limit: until they run, answer over SSH, train, and are gone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from controller.act.cluster import Cluster
from controller.domain import Fact, Fleet, Instance, Observation, TrainingState
from controller.domain.errors import AwsError, CapacityUnavailableError, NodesError
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import NoAnswer, NoCapacity, NotEnded, NotRunning, RankFailed
from controller.edges.clock import Clock
from controller.words.reasons.sentences import as_sentence

_LOOK = "Look at the nodes with `centavo status`, and at the logs in runs/latest/."


@dataclass(frozen=True)
class MoveLimits:
    """The time that each step may take, and the time between two looks, in seconds."""

    boot_s: float
    configure_s: float
    join_s: float
    drain_s: float
    poll_s: float


def nodes_error(reason: Reason, flavors: Collection[str] = ()) -> NodesError:
    """Returns the error that nodes of these flavors did not do what was waited for."""
    return NodesError(as_sentence(reason), _LOOK, reason=reason, flavors=tuple(sorted(flavors)))


class Waiter:
    """Waits for nodes of a cluster. `pause` lets time pass between two looks, and may raise to end the waiting."""

    def __init__(self, cluster: Cluster, clock: Clock, limits: MoveLimits, pause: Callable[[], None]) -> None:
        self._cluster, self._clock, self._limits, self._pause = cluster, clock, limits, pause

    def until_running(self, fleet: Fleet, flavors: Collection[str], since: float) -> tuple[Instance, ...]:
        """Waits until at least this fleet runs.

        Args:
            fleet: What is to run.
            flavors: The flavors of which EC2 was asked for more nodes.
            since: When EC2 was asked (seconds since the epoch).

        Returns:
            The cluster's workers.

        Raises:
            CapacityUnavailableError: EC2 could not launch a flavor that is missing.
            NodesError: Nodes are missing after `boot_s`.
            AwsError: EC2 can't be asked after `boot_s`.
        """
        deadline = self._clock.now() + self._limits.boot_s
        while True:
            workers = self._workers_or_none(deadline)
            missing = fleet.beyond(Fleet.counted(i.flavor for i in workers or () if i.is_running))
            if workers is not None and not missing:
                return workers
            failures = self._cluster.launch_failures([f for f in flavors if missing.count(f)], since)
            if failures:
                reason = NoCapacity(failures)
                raise CapacityUnavailableError(as_sentence(reason), reason=reason, flavors=tuple(sorted(failures)))
            if self._clock.now() >= deadline:
                raise nodes_error(NotRunning(missing, self._limits.boot_s), missing)
            self._pause()

    def until_answering(self, instances: Sequence[Instance]) -> None:
        """Waits until all these instances answer over SSH. Raises NodesError after `boot_s`."""
        deadline = self._clock.now() + self._limits.boot_s
        while silent := self._cluster.silent(instances):
            if self._clock.now() >= deadline:
                flavors = {i.flavor for i in instances if i.instance_id in silent}
                raise nodes_error(NoAnswer(silent, self._limits.boot_s), flavors)
            self._pause()

    def until_training(
        self,
        nodes: Sequence[Instance],
        world_size: int,
        limit_s: float,
        look: Callable[[], Observation],
        late: Callable[[Mapping[str, str], int, float], Reason],
    ) -> None:
        """Waits until each node says that it trains, in a fact that was written after this call.

        Args:
            nodes: The nodes that are waited for.
            world_size: The world size that they have to train in.
            limit_s: For how long to wait.
            look: Reads the facts.
            late: Makes the reason of the error from the late nodes (id and flavor), the number of nodes, and the limit.

        Raises:
            NodesError: A rank says that it failed, or nodes are late.
        """
        since = self._clock.now()
        while True:
            facts = {fact.instance_id: fact for fact in look().facts if fact.updated_at >= since}
            waiting = [i for i in nodes if not _trains(facts.get(i.instance_id), world_size)]
            if not waiting:
                return
            for node in waiting:
                _refuse_failed(node, facts.get(node.instance_id))
            if self._clock.now() >= since + limit_s:
                reason = late({i.instance_id: i.flavor for i in waiting}, len(nodes), limit_s)
                raise nodes_error(reason, {i.flavor for i in waiting})
            self._clock.sleep(self._limits.poll_s)

    def until_gone(self, staying: Collection[str]) -> None:
        """Waits until no worker is left but those that stay, and goes on lifting the others' protection from scale-in.

        Raises:
            NodesError: EC2 has not ended them after `boot_s`.
        """
        deadline = self._clock.now() + self._limits.boot_s
        while leaving := [i for i in self._cluster.workers() if i.instance_id not in staying]:
            if self._clock.now() >= deadline:
                raise nodes_error(NotEnded(tuple(i.instance_id for i in leaving), self._limits.boot_s))
            self._cluster.lift_protection(leaving)
            self._pause()

    def _workers_or_none(self, deadline: float) -> tuple[Instance, ...] | None:
        """Returns the workers; None where EC2 could not be asked, for unknown is not missing.

        Raises:
            AwsError: EC2 could still not be asked at the deadline.
        """
        try:
            return self._cluster.workers()
        except AwsError:
            if self._clock.now() >= deadline:
                raise
            return None


def _trains(fact: Fact | None, world_size: int) -> bool:
    return fact is not None and fact.state is TrainingState.TRAINING and fact.world_size == world_size


def _refuse_failed(node: Instance, fact: Fact | None) -> None:
    if fact is not None and fact.state is TrainingState.FAILED:
        raise nodes_error(RankFailed(node.instance_id, node.flavor, fact.reason), {node.flavor})
