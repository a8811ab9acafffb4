"""A look at the cluster: what EC2 runs, what the ranks say, and whether the training has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from controller.domain import HeadSeen, Instance, NodeSeen, Observation, UnknownNode
from controller.domain.errors import AnsibleError, AwsError, NodesError
from controller.domain.reasons import Reason
from controller.domain.reasons.nodes import AnsibleUnusable, Ec2Unreachable, NodeUnreachable, TakesNoPart
from controller.edges.ansible import Outcome
from controller.edges.clock import Clock
from controller.edges.connecting.ssh import SshAccess
from controller.observe.asking import Asking
from controller.observe.facts import LocalFacts, read_facts
from controller.observe.instances import Instances, running_fleet
from controller.observe.prices.zones import nodes_by_zone
from controller.observe.progress import TrainingEnd, read_end
from controller.observe.reaching import Reaching


class FactsPort(Protocol):
    """The part of `edges.ansible.Ansible` that is used here."""

    def read_local_facts(
        self, access: SshAccess, instances: Sequence[Instance], variables: Mapping[str, Any]
    ) -> Outcome: ...


class Observer:
    """Looks at the cluster. What can't be asked is unknown."""

    def __init__(
        self,
        instances: Instances,
        members: Callable[[], frozenset[str]],
        ansible: FactsPort,
        reaching: Reaching,
        clock: Clock,
        fact_max_age_s: float,
    ) -> None:
        self._instances, self._members, self._ansible = instances, members, ansible
        self._reaching, self._clock, self._fact_max_age_s = reaching, clock, fact_max_age_s
        self._asking = Asking()
        self.end: TrainingEnd | None = None
        """How the training ended, once a look has found it at its end."""

    def look(self) -> Observation:
        """Returns what is seen now: asks the head, and all running workers that have not reported to it.

        The facts of those count that take part, as the head's hosts file says. Where the head does not answer, the last
        known members take part.
        """
        try:
            workers = self._instances.workers()
        except AwsError as error:
            return self._unseen(self._instances.last_workers, Ec2Unreachable(error.reason))
        running = [i for i in workers if i.is_running]
        try:
            outcome = self._read_facts(running)
        except AnsibleError as error:
            return self._unseen(workers, AnsibleUnusable(error.reason))
        except NodesError as error:
            return self._unseen(workers, NodeUnreachable(error.what))
        now = self._clock.now()
        self.end = read_end(outcome.local_facts.get(self._instances.head().instance_id)) or self.end
        members = self._members() if outcome.head is None else members_of(outcome.head, running)
        taking_part = tuple(i for i in running if i.instance_id in members)
        facts, unknown = read_facts(
            taking_part,
            LocalFacts(outcome.local_facts, outcome.failures, clocks_of(outcome.nodes)),
            now=now,
            max_age_s=self._fact_max_age_s,
        )
        aside = _unknown([i for i in workers if i not in taking_part], TakesNoPart())
        nodes = tuple(outcome.nodes[i.instance_id] for i in running if i.instance_id in outcome.nodes)
        return Observation(
            now,
            running_fleet(workers),
            facts,
            unknown + aside,
            outcome.head,
            nodes,
            dict(outcome.failures),
            zones=nodes_by_zone(workers),
        )

    def _read_facts(self, workers: Sequence[Instance]) -> Outcome:
        access, variables = self._reaching.access(), {"centavo": self._reaching.variables()}
        return self._asking.ask(
            self._instances.head(),
            workers,
            lambda asked: self._ansible.read_local_facts(access, asked, variables),
        )

    def _unseen(self, workers: Sequence[Instance], reason: Reason) -> Observation:
        """Returns the fleet of these workers, with nothing known of what they do."""
        return Observation(self._clock.now(), running_fleet(workers), (), _unknown(workers, reason))


def members_of(head: HeadSeen, workers: Sequence[Instance]) -> frozenset[str]:
    """Returns the ids of those workers whose addresses are in the head's hosts file."""
    return frozenset(i.instance_id for i in workers if i.private_ip in (head.hosts or ()))


def clocks_of(nodes: Mapping[str, NodeSeen]) -> dict[str, float]:
    """Returns how far the clock of each node is ahead of the controller's, in seconds, by instance id."""
    return {instance_id: node.clock_ahead_s for instance_id, node in nodes.items()}


def _unknown(workers: Sequence[Instance], reason: Reason) -> tuple[UnknownNode, ...]:
    return tuple(UnknownNode(i.instance_id, i.flavor, reason) for i in workers)
