"""The kind of host `machine`: what all machines of a cloud share, made first and removed last."""

from __future__ import annotations

import asyncio
import logging
from typing import IO

from localcloud.hosts.machine import record
from localcloud.hosts.machine.cleanup import remove_everything
from localcloud.hosts.machine.disk.snapshots import Snapshots
from localcloud.hosts.machine.disk.volume import volumes_in
from localcloud.hosts.machine.firewall.firewall import Firewall
from localcloud.hosts.machine.firewall.table import Ranges, Uplink
from localcloud.hosts.machine.host import MachineHost
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network import ranges
from localcloud.hosts.machine.network.bridges import KERNEL, Bridges, uplink
from localcloud.hosts.machine.network.namespace import is_folder_mounted
from localcloud.hosts.machine.preparing import prepare
from localcloud.hosts.machine.shared import Shared
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.network import Network
from localcloud.link.report import Report
from localcloud.link.spec import HostSpec
from localcloud.link.wanted import Wanted

log = logging.getLogger("localcloud.hosts")


class Machines:
    """All machines of a cloud."""

    def __init__(self, configuration: HostsConfiguration, report: Report) -> None:
        self._configuration = configuration
        self._report = report
        self._names = Names.of(configuration.state_dir)
        self._snapshots = Snapshots(configuration.state_dir)
        self._lock: IO[str] | None = None
        self._firewall: Firewall | None = None
        self._shared: Shared | None = None

    async def open(self) -> None:
        """Makes the ranges blackholes, then the firewall, then the bridge for public addresses.

        Raises:
            MachineError: something cannot be made. `close` removes what was made.
        """
        settings, state_dir = self._configuration.settings.machines, self._configuration.state_dir
        image = await asyncio.to_thread(prepare, settings, state_dir, log.info)
        self._lock = record.hold(state_dir)
        if self._lock is None:
            raise MachineError(f"another process uses the machines of {state_dir}")
        out = uplink()
        forwarding = KERNEL / f"ipv4/conf/{out}/forwarding"
        way = Uplink(out, forwarded=out is None or forwarding.read_text().strip() == "1")
        made = record.Record(
            private_cidr=settings.private_cidr,
            public_cidr=settings.public_cidr,
            uplink=way.name,
            uplink_forwarded=way.forwarded,
            namespaces_mounted=is_folder_mounted(),
        )
        record.write(state_dir, made)
        ranges.claim([settings.private_cidr, settings.public_cidr])
        self._firewall = Firewall(self._names, Ranges(settings.private_cidr, settings.public_cidr), way)
        self._firewall.follow(Network(), [])
        if not way.forwarded:
            forwarding.write_text("1")
        bridges = Bridges(self._names, settings.public_cidr)
        bridges.open()
        self._shared = Shared(self._configuration, self._names, image, self._snapshots, bridges, Network())

    def follow(self, wanted: Wanted) -> None:
        """Lets firewall, routes and images follow, before a machine that they are for starts.

        Raises:
            MachineError: the firewall cannot be set. No machine runs without it, so the cloud ends.
        """
        assert self._shared and self._firewall
        self._shared.network = wanted.network
        self._firewall.follow(wanted.network, wanted.hosts)
        self._shared.bridges.follow_subnets(wanted.network.subnets)
        self._shared.bridges.follow_public(wanted.hosts)
        self._snapshots.follow(wanted.images)
        in_use = {spec.instance_id for spec in wanted.hosts} | self._snapshots.copied
        self._delete_volumes(in_use | set(wanted.waiting))

    def make(self, spec: HostSpec) -> MachineHost:
        """Returns a machine that has not started."""
        assert self._shared
        return MachineHost(spec, self._shared, self._report)

    def _delete_volumes(self, kept: set[str]) -> None:
        """Deletes the volumes of other instances, which were terminated. A mounted one is gone when it is unmounted."""
        for volume in volumes_in(self._configuration.state_dir):
            if volume.parent.name not in kept:
                volume.unlink()

    async def close(self) -> None:
        """Removes everything that was made on this machine.

        Raises:
            MachineError: something cannot be removed.
        """
        if self._lock:
            with self._lock:
                await self._snapshots.end()
                await asyncio.to_thread(remove_everything, self._configuration.state_dir)
