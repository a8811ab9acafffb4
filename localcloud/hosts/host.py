"""What a host is to the supervisor, of whatever kind it is."""

from __future__ import annotations

from typing import Protocol

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.report import Report
from localcloud.link.spec import HostSpec
from localcloud.link.wanted import Wanted


class Host(Protocol):
    """A host of one instance, from one boot to its end.

    The supervisor calls `start` once, then `update` any number of times, then `stop` once, and never two at a time.
    """

    @property
    def spec(self) -> HostSpec:
        """The specification that the host follows now."""
        ...

    async def start(self) -> None:
        """Boots the host. Reports `BOOTING`, then `READY` or, with the reason, `FAILED`."""
        ...

    def update(self, spec: HostSpec) -> None:
        """Takes over what may change while a host runs: tags, role, the notice of a spot interruption, faults."""
        ...

    async def stop(self) -> None:
        """Ends the host and every process in it. Reports `STOPPING`, then `GONE` when nothing of the host is left."""
        ...


class HostKind(Protocol):
    """Makes the hosts of one kind, and what they share.

    `open` is called once, first. `follow` is called before the supervisor learns of a change. `close` is called once,
    last, when all hosts have stopped, also when `open` failed.
    """

    async def open(self) -> None:
        """Makes what all hosts share."""
        ...

    def follow(self, wanted: Wanted) -> None:
        """Lets what hosts share follow a change."""
        ...

    def make(self, spec: HostSpec) -> Host:
        """Returns a host that has not started."""
        ...

    async def close(self) -> None:
        """Removes what all hosts share."""
        ...


class MakeKind(Protocol):
    """Makes a kind of hosts. Its class is one."""

    def __call__(self, configuration: HostsConfiguration, report: Report) -> HostKind:
        """Returns a kind. Its hosts call `report` at each change of their state."""
        ...
