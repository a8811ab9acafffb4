"""Addresses: each lies in its range, belongs to one interface at a time, and is reused as late as possible."""

from __future__ import annotations

import ipaddress

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.subnets import Subnet

RESERVED_AT_START = 4  # AWS keeps the network's own address, the router's, the DNS server's and one more


class Addresses:
    """Gives out the addresses of a subnet in turn.

    moto gives out a freed address again at once, and frees some twice, so that two interfaces may get one address.
    """

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def next_in(self, ec2: EC2Backend, subnet: Subnet) -> str:
        """Returns a free address of a subnet.

        Raises:
            EC2ClientError: InsufficientFreeAddressesInSubnet.
        """
        network = ipaddress.IPv4Network(subnet.cidr_block)
        taken = _taken(ec2, subnet)
        usable = range(RESERVED_AT_START, network.num_addresses - 1)
        start = self._last.get(subnet.id, RESERVED_AT_START - 1) + 1
        for step in range(len(usable)):
            offset = usable[(start - usable.start + step) % len(usable)]
            address = str(network[offset])
            if address not in taken:
                self._last[subnet.id] = offset
                return address
        raise EC2ClientError(
            "InsufficientFreeAddressesInSubnet",
            f"The specified subnet {subnet.id} ({subnet.cidr_block}) does not have enough free addresses.",
        )


class PublicAddresses:
    """Gives out public addresses in turn. They come from a network for documentation, so no machine really has them."""

    def __init__(self, ec2: EC2Backend, cidr: str) -> None:
        self._ec2 = ec2
        self._network = ipaddress.IPv4Network(cidr)
        self._last = 0

    def next(self) -> str:
        """Returns a free address. The last one of the range is left out: it is this machine's own among them.

        Raises:
            EC2ClientError: AddressLimitExceeded.
        """
        taken = {interface.public_ip for interface in self._ec2.enis.values()}
        taken |= {address.public_ip for address in self._ec2.addresses}
        usable = self._network.num_addresses - 3
        for step in range(usable):
            offset = 1 + (self._last + step) % usable
            if str(self._network[offset]) not in taken:
                self._last = offset
                return str(self._network[offset])
        raise EC2ClientError("AddressLimitExceeded", f"All public addresses of {self._network} are taken.")


def _taken(ec2: EC2Backend, subnet: Subnet) -> set[str]:
    return {
        str(address.get("PrivateIpAddress"))
        for interface in ec2.enis.values()
        if interface.subnet.id == subnet.id
        for address in interface.private_ip_addresses
    }
