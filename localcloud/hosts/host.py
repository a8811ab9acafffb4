"""What a host is to the supervisor, of whatever kind it is."""

from __future__ import annotations

from typing import Protocol

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.report import Report
from localcloud.link.spec import HostSpec


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
    """Makes hosts of one kind. A class of hosts is one."""

    def __call__(self, spec: HostSpec, configuration: HostsConfiguration, report: Report) -> Host:
        """Returns a host that has not started. The host calls `report` at each change of its state."""
        ...
