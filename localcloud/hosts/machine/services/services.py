"""All services of one machine."""

from __future__ import annotations

import asyncio
import socket

from localcloud.hosts.machine.network.addresses import METADATA, RESOLVER
from localcloud.hosts.machine.network.name_server import name_server_of
from localcloud.hosts.machine.network.namespace import Door, Namespace
from localcloud.hosts.machine.services.forwarding import Forwarding
from localcloud.hosts.machine.services.resolver import DNS_PORT, Resolver
from localcloud.hosts.metadata.service import MetadataService
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.spec import HostSpec
from localcloud.settings import API_ADDRESS

METADATA_PORT = 80


class Services:
    """The metadata service, the name server, and the API at the address that it has outside."""

    def __init__(self, spec: HostSpec, configuration: HostsConfiguration) -> None:
        self._api_port = configuration.settings.port
        self._open_way = asyncio.Event()
        self._open_way.set()
        self._metadata = MetadataService(spec, of_a_machine=True)
        self._forwardings: list[Forwarding] = []
        self._resolver: Resolver | None = None

    def follow(self, spec: HostSpec) -> None:
        """Takes over what the metadata tell, and whether the machine is cut off."""
        self._metadata.spec = spec
        if any(fault.kind == "partition" and fault.other is None for fault in spec.faults):
            self._open_way.clear()
        else:
            self._open_way.set()

    async def start(self, namespace: Namespace) -> None:
        """Starts to serve within a namespace.

        Raises:
            MachineError: an address cannot be used.
        """
        name_server = name_server_of()
        doors = [Door(METADATA, METADATA_PORT), Door(API_ADDRESS, self._api_port)]
        if name_server:
            doors += [Door(RESOLVER, DNS_PORT), Door(RESOLVER, DNS_PORT, socket.SOCK_DGRAM)]
        metadata, api, *names = await asyncio.to_thread(namespace.open, doors)
        await self._metadata.serve(metadata)
        self._forwardings = [Forwarding(api, API_ADDRESS, self._api_port, self._open_way)]
        if name_server:
            self._forwardings.append(Forwarding(names[0], name_server, DNS_PORT, self._open_way))
            self._resolver = Resolver(name_server, self._open_way)
            await self._resolver.start(names[1])
        for forwarding in self._forwardings:
            await forwarding.start()

    async def stop(self) -> None:
        """Stops serving. Harmless if nothing was served."""
        for forwarding in self._forwardings:
            await forwarding.stop()
        if self._resolver:
            self._resolver.stop()
        await self._metadata.stop()
