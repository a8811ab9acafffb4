"""What the API wants of the hosts' process: the hosts that shall run, their network, and images made of hosts."""

from __future__ import annotations

from dataclasses import dataclass, field

from localcloud.link.image import ImageSpec
from localcloud.link.network import Network
from localcloud.link.spec import HostSpec


@dataclass(frozen=True)
class Wanted:
    """Hosts that shall run, and the network that they are in. Hosts on loopback use the list of hosts only.

    `waiting` has the ids of instances that do not run, and will or may: they are pending, stopping or stopped. `images`
    has all images that shall be there, each after the one that it is based on.
    """

    hosts: list[HostSpec]
    network: Network = field(default_factory=Network)
    waiting: tuple[str, ...] = ()
    images: tuple[ImageSpec, ...] = ()
