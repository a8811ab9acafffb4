"""The cluster, as a move needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from controller.domain import Fleet, Instance, Observation


class Cluster(Protocol):
    """What a move sees of a cluster and does to it. Every call may be repeated."""

    # what is seen

    def observe(self) -> Observation:
        """Looks at EC2, the head and the nodes, and keeps what it saw in the journal."""

    def last_workers(self) -> tuple[Instance, ...]:
        """Returns the workers that the last look found pending or running."""

    def desired(self) -> Fleet:
        """Returns what the Auto Scaling groups are set to. Raises AwsError."""

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Returns what EC2 said of the flavors that it could not launch since a time (seconds since the epoch)."""

    # what is done

    def set_capacity(self, fleet: Fleet) -> None:
        """Makes Terraform ask for this fleet. GuardError and CapacityFileError mean that nothing was changed."""

    def empty_groups(self) -> None:
        """Gives all workers back without Terraform. Raises AwsError."""

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Allows a scale-in to end exactly these instances."""

    def configure(self, instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        """Makes workers of these instances, warm and ready to join. Raises AnsibleError."""

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: these instances take part in the training. Raises AnsibleError."""

    def start_training(self) -> None:
        """Starts the launcher, unless it runs. Raises AnsibleError."""

    def stop_training(self) -> None:
        """Stops the launcher. Raises AnsibleError."""
