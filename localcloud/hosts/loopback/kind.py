"""Hosts on addresses of loopback, which share nothing that would have to be made."""

from __future__ import annotations

from localcloud.hosts.loopback.host import LoopbackHost
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.report import Report
from localcloud.link.spec import HostSpec
from localcloud.link.wanted import Wanted


class Loopback:
    """The kind of host `loopback`."""

    def __init__(self, configuration: HostsConfiguration, report: Report) -> None:
        self._configuration = configuration
        self._report = report

    async def open(self) -> None:
        """Makes nothing: the addresses of loopback are there already."""

    def follow(self, wanted: Wanted) -> None:
        """Does nothing: all hosts reach each other."""

    def make(self, spec: HostSpec) -> LoopbackHost:
        """Returns a host that has not started."""
        return LoopbackHost(spec, self._configuration, self._report)

    async def close(self) -> None:
        """Removes nothing."""
