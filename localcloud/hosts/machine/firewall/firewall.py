"""The firewall in force."""

from __future__ import annotations

from collections.abc import Sequence

from localcloud.hosts.machine.firewall.table import Ranges, Uplink, table_of
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.tools import run
from localcloud.link.network import Network
from localcloud.link.spec import HostSpec


class Firewall:
    """The nftables table of one cloud."""

    def __init__(self, names: Names, ranges: Ranges, uplink: Uplink) -> None:
        self._names = names
        self._ranges = ranges
        self._uplink = uplink
        self._in_force = ""

    def follow(self, network: Network, specs: Sequence[HostSpec]) -> None:
        """Loads the table for a network and its instances, unless it is in force already.

        Raises:
            MachineError: nftables refuses it. The table that there was stays in force.
        """
        table = table_of(self._names, self._ranges, self._uplink, network, specs)
        if table != self._in_force:
            run("nft", "-f", "-", text=table)
            self._in_force = table
