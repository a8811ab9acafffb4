"""Who takes part in the training while no controller lives.

The hosts file on the head says which nodes the launcher connects to. It is the controller's while a controller holds
the lease. Where the lease was given back or has run out, the head's warden keeps it true: it names the workers in
service of the cluster's groups, and so never more than the groups' size. A node that its group has replaced is let in
this way, and the address of the lost one is left out before EC2 gives it to another instance.

To be named is not to train. The launcher logs in with the head's key, which a node of this cluster and run has in its
authorized keys, and takes a worker only when it is warm and of the same training. A node that was drained has no worker
that answers.

The lease is read again right before the file is written. A controller that takes the lease even so sees the file in its
first pass, and makes it what it wants. A look costs one call for the groups, and one more when an instance is new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from ..bucket import Bucket
from ..clients import AWS_ERRORS, client
from ..groups import Groups
from ..look import Look
from ..node import Node
from ..verdict import Situation

LAUNCHER = "launcher"
OVER = ("ending", "ended")


def hosts_wanted(hosts: str, run: str, members: Collection[str]) -> str | None:
    """Returns what the hosts file is to say; None where it stays as it is.

    A file of another run is left alone, and no file is ever emptied: groups without members say nothing of a training.

    Args:
        hosts: The file's content: a line `# RUN`, and a line `ADDRESS:1` for each node.
        run: The run's name.
        members: The addresses of the workers in service.
    """
    first, *lines = hosts.splitlines() or [""]
    if first != f"# {run}" or not members:
        return None
    named = [line.partition(":")[0] for line in lines if line]
    wanted = [one for one in named if one in members] + sorted(set(members) - set(named))
    return None if wanted == named else "\n".join([first, *(f"{one}:1" for one in wanted)]) + "\n"


def is_left_alone(now: Situation, run: str) -> bool:
    """Returns whether the head's run goes on and no controller holds the lease."""
    lease = now.lease
    if lease is None or now.is_kept or lease.fired_by is not None or lease.stage in OVER:
        return False
    return lease.run == run


class LettingIn:
    """Keeps the hosts file true while no controller lives."""

    def __init__(
        self, node: Node, bucket: Bucket, groups: Groups, tell: Callable[[str], None], ec2: Any = None
    ) -> None:
        self._node, self._bucket, self._groups, self._tell, self._given = node, bucket, groups, tell, ec2
        self._addresses: dict[str, str] = {}

    @cached_property
    def _ec2(self) -> Any:
        """The client, made when it is first needed: it takes 15 MB."""
        return client("ec2", self._node.settings.region) if self._given is None else self._given

    def watch(self, look: Look, now: Situation) -> None:
        """Writes the hosts file, where no controller does and other workers are in service than it names."""
        run, hosts = self._node.run(), self._node.hosts()
        if run is None or hosts is None or not is_left_alone(now, run) or not self._node.wants(LAUNCHER):
            return
        try:
            members = self._members()
        except AWS_ERRORS as error:
            self._tell(f"who is in service is not known, and the hosts file stays as it is: {error}")
            return
        wanted = hosts_wanted(hosts, run, members)
        if wanted is None or self._bucket.look().etag != look.etag:
            return
        self._node.write_hosts(wanted)
        self._tell(f"no controller lives, so the training is told which workers are in service: {', '.join(members)}")

    def _members(self) -> Sequence[str]:
        """Returns the addresses of the workers in service. Raises one of AWS_ERRORS."""
        found = [one for group in self._groups.all(self._node.settings.cluster) for one in group.in_service]
        unknown = [one for one in found if one not in self._addresses]
        if unknown:
            self._addresses |= self._asked(unknown)
        return sorted(self._addresses[one] for one in found if one in self._addresses)

    def _asked(self, instance_ids: Sequence[str]) -> dict[str, str]:
        named = [{"Name": "instance-id", "Values": [*instance_ids]}]
        pages = self._ec2.get_paginator("describe_instances").paginate(Filters=named)
        instances = [one for page in pages for place in page["Reservations"] for one in place["Instances"]]
        return {one["InstanceId"]: one["PrivateIpAddress"] for one in instances if one.get("PrivateIpAddress")}
