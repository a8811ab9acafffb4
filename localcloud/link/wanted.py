"""What the API wants of the hosts' process: the complete list of hosts that shall run, and their network."""

from __future__ import annotations

from dataclasses import dataclass, field

from localcloud.link.network import Network
from localcloud.link.spec import HostSpec


@dataclass(frozen=True)
class Wanted:
    """Hosts that shall run, and the network that they are in. Kinds of hosts on loopback do not use the network."""

    hosts: list[HostSpec]
    network: Network = field(default_factory=Network)
