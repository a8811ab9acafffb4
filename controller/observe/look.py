"""A look at the cluster: what EC2 runs, what the ranks say, and whether the training has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from controller.domain import Instance, Observation, UnknownNode
from controller.domain.errors import AnsibleError, AwsError
from controller.domain.reasons import Reason
from controller.domain.reasons.nodes import AnsibleUnusable, Ec2Unreachable, NotAsked, TakesNoPart
from controller.edges.ansible import Outcome
from controller.edges.clock import Clock
from controller.edges.ssh import SshAccess
from controller.observe.facts import LocalFacts, read_facts
from controller.observe.instances import Instances, running_fleet
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
        self.end: TrainingEnd | None = None
        """How the training ended, once a look has found it at its end."""

    def look(self) -> Observation:
        """Returns what is seen now: reads the facts of all members."""
        try:
            workers = self._instances.workers()
        except AwsError as error:
            return self._unseen(self._instances.last_workers, Ec2Unreachable(error.reason))
        members = self._members()
        taking_part = tuple(i for i in workers if i.is_running and i.instance_id in members)
        try:
            outcome = self._read_facts(taking_part)
        except AnsibleError as error:
            return self._unseen(workers, AnsibleUnusable(error.reason))
        now = self._clock.now()
        self.end = read_end(outcome.local_facts.get(self._instances.head().instance_id)) or self.end
        facts, unknown = read_facts(
            taking_part,
            LocalFacts(outcome.local_facts, outcome.failures),
            now=now,
            max_age_s=self._fact_max_age_s,
        )
        aside = _unknown([i for i in workers if i not in taking_part], TakesNoPart())
        return Observation(now, running_fleet(workers), facts, unknown + aside)

    def glance(self) -> Observation:
        """Returns which workers run now, without asking them. Raises AwsError."""
        return self._unseen(self._instances.workers(), NotAsked())

    def _read_facts(self, taking_part: Sequence[Instance]) -> Outcome:
        return self._ansible.read_local_facts(
            self._reaching.access(),
            [self._instances.head(), *taking_part],
            {"centavo": self._reaching.variables()},
        )

    def _unseen(self, workers: Sequence[Instance], reason: Reason) -> Observation:
        """Returns the fleet of these workers, with nothing known of what they do."""
        return Observation(self._clock.now(), running_fleet(workers), (), _unknown(workers, reason))


def _unknown(workers: Sequence[Instance], reason: Reason) -> tuple[UnknownNode, ...]:
    return tuple(UnknownNode(i.instance_id, i.flavor, reason) for i in workers)
