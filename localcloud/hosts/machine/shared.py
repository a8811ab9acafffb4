"""What all machines of a cloud share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localcloud.hosts.machine.disk.snapshots import Snapshots
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network.bridges import Bridges
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.network import Network, Subnet
from localcloud.link.spec import HostSpec


@dataclass
class Shared:
    """The image of Debian, the images made of machines, the bridges, and the network as the API describes it now."""

    configuration: HostsConfiguration
    names: Names
    image: Path
    snapshots: Snapshots
    bridges: Bridges
    network: Network

    def subnet(self, spec: HostSpec) -> Subnet:
        """Returns an instance's subnet.

        Raises:
            MachineError: the subnet is gone.
        """
        found = next((one for one in self.network.subnets if one.subnet_id == spec.subnet_id), None)
        if found is None:
            raise MachineError(f"its subnet {spec.subnet_id} does not exist any more")
        return found

    def layers(self, spec: HostSpec) -> list[Path]:
        """Returns the folders that an instance's image consists of, the upmost first.

        Raises:
            MachineError: the image was not made.
        """
        return [*self.snapshots.layers(spec.image_id), self.image]

    def environment(self, spec: HostSpec) -> dict[str, str]:
        """Returns the variables of every session and service of a machine. EC2 sets none of them.

        They say where the API answers, and how fast the machine's flavor computes. The trainer brakes itself. A machine
        with less of a core would also boot and install as slowly, which no instance of EC2 does.
        """
        settings = self.configuration.settings
        return {
            "AWS_ENDPOINT_URL": settings.endpoint,
            "AWS_REGION": settings.region,
            "AWS_DEFAULT_REGION": settings.region,
            **settings.brake_of(spec.speed),
        }
