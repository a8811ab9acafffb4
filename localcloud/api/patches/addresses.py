"""Addresses of network interfaces, private and public."""

from __future__ import annotations

import ipaddress
from typing import Any

from moto.ec2.models import EC2Backend, elastic_ip_addresses, elastic_network_interfaces
from moto.ec2.models.instances import Instance
from moto.ec2.models.subnets import Subnet

from localcloud.api.ec2.addresses import Addresses, PublicAddresses
from localcloud.api.patches.replace import replace


def patch_addresses(ec2: EC2Backend, public_cidr: str) -> None:
    """Lets every interface get its addresses from one allocator for private and one for public addresses."""
    addresses = Addresses()
    create = EC2Backend.create_network_interface

    def available(subnet: Subnet, instance: Instance) -> str:
        return addresses.next_in(subnet.ec2_backend, subnet)

    def create_with_address(ec2: EC2Backend, subnet: Any, private_ip_address: Any, *args: Any, **options: Any) -> Any:
        listed = args[0] if args else options.get("private_ip_addresses")
        known = ec2.get_subnet(subnet) if isinstance(subnet, str) else subnet
        if known and not listed and not _lies_in(private_ip_address, known):
            private_ip_address = addresses.next_in(ec2, known)
        return create(ec2, subnet, private_ip_address, *args, **options)

    replace(Subnet, "get_available_subnet_ip", available)
    replace(EC2Backend, "create_network_interface", create_with_address)
    public = PublicAddresses(ec2, public_cidr)
    # moto draws public addresses at random: addresses of real machines, or of loopback.
    for module, name in ((elastic_network_interfaces, "random_public_ip"), (elastic_ip_addresses, "random_ip")):
        setattr(module, name, public.next)


def _lies_in(address: Any, subnet: Subnet) -> bool:
    """Returns whether an address lies in a subnet. moto gives a NAT gateway one that does not."""
    first = address[0] if isinstance(address, list) and address else address
    return bool(first) and ipaddress.IPv4Address(first) in ipaddress.IPv4Network(subnet.cidr_block)
