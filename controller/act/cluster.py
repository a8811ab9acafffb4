"""The cluster, as a move needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from controller.domain import Fleet, Instance, Observation


class Cluster(Protocol):
    """What a move sees of a cluster and does to it. Every call may be repeated."""

    # what is seen

    def workers(self) -> tuple[Instance, ...]:
        """Returns the workers that are pending or running. Raises AwsError."""

    def members(self) -> frozenset[str]:
        """Returns the ids of the instances in the hosts file, as last written."""

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Returns what EC2 said of the flavors that it could not launch since a time (seconds since the epoch)."""

    def silent(self, instances: Sequence[Instance]) -> Mapping[str, str]:
        """Returns what SSH said of the instances that don't answer, by instance id."""

    def observe(self) -> Observation:
        """Reads the facts of all members and keeps them in the journal."""

    def training_has_ended(self) -> bool:
        """Returns whether the last observation found the training at its end."""

    # what is done

    def set_capacity(self, fleet: Fleet) -> None:
        """Makes Terraform ask for this fleet. GuardError and CapacityFileError mean that nothing was changed."""

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Allows a scale-in to end exactly these instances."""

    def configure(self, instances: Sequence[Instance], timeout_s: float) -> None:
        """Makes workers of these instances, warm and ready to join. Raises AnsibleError."""

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: these instances take part in the training. Raises AnsibleError."""
