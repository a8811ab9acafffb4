"""What all machines of a cloud share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network.bridges import Bridges
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.network import Network, Subnet
from localcloud.link.spec import HostSpec


@dataclass
class Shared:
    """The image, the bridges, and the network as the API describes it now."""

    configuration: HostsConfiguration
    names: Names
    image: Path
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

    @property
    def environment(self) -> dict[str, str]:
        """The variables of every session and service of a machine: where the API answers. EC2 sets none of them."""
        settings = self.configuration.settings
        return {
            "AWS_ENDPOINT_URL": settings.endpoint,
            "AWS_REGION": settings.region,
            "AWS_DEFAULT_REGION": settings.region,
        }
