"""What EC2 runs of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from controller.domain import Fleet, Instance
from controller.domain.errors import AwsError, NodesError
from controller.observe.made import Made


class InstancesPort(Protocol):
    """The part of `edges.aws.Aws` that is used here."""

    def instances(self, cluster: str) -> tuple[Instance, ...]: ...
    def failures(self, group: str, since: float) -> tuple[str, ...]: ...


class Instances:
    """The cluster's instances, as EC2 says. What was seen last is remembered."""

    def __init__(self, aws: InstancesPort, made: Made) -> None:
        self._aws, self._made = aws, made
        self._head: Instance | None = None
        self.listed_head: Instance | None = None
        """The head as EC2 listed it last; None where it listed none."""
        self.last_workers: tuple[Instance, ...] = ()
        """The workers that EC2 listed last."""
        self.listed: tuple[Instance, ...] = ()
        """All instances of the cluster that EC2 listed last, the head included."""

    def workers(self) -> tuple[Instance, ...]:
        """Returns the workers that are pending or running. Raises AwsError."""
        outputs = self._made.outputs
        instances = self.listed = self._aws.instances(outputs.cluster)
        self.listed_head = next((i for i in instances if i.instance_id == outputs.head.instance_id), None)
        self._head = self.listed_head or self._head
        self.last_workers = tuple(i for i in instances if i.role == "worker")
        return self.last_workers

    def running(self) -> list[Instance]:
        """Returns the workers that run. Raises AwsError."""
        return [i for i in self.workers() if i.is_running]

    def head(self) -> Instance:
        """Returns the head. Raises NodesError when EC2 does not run it."""
        if self._head is None or self._head.instance_id != self._made.outputs.head.instance_id:
            self._head = None
            self.workers()
        if self._head is None:
            raise NodesError(
                f"The head {self._made.outputs.head.instance_id} does not run.", "`centavo apply` makes another one."
            )
        return self._head

    def head_state(self) -> str:
        """Returns EC2's word for the head's state, as last listed; `terminated` where it lists no head."""
        return "terminated" if self.listed_head is None else self.listed_head.state

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Returns what EC2 said of the flavors that it could not launch since a time (seconds since the epoch).

        A flavor of which EC2 can't be asked is left out: unknown counts as no failure.
        """
        found: dict[str, str] = {}
        for flavor in flavors:
            try:
                failures = self._aws.failures(self._made.outputs.flavors[flavor].autoscaling_group, since)
            except AwsError:
                continue
            if failures:
                found[flavor] = failures[0]
        return found


def running_fleet(workers: Iterable[Instance]) -> Fleet:
    """Returns the fleet of those workers that run."""
    return Fleet.counted(i.flavor for i in workers if i.is_running)
