"""Addresses of network interfaces."""

from __future__ import annotations

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.models.subnets import Subnet

from localcloud.api.ec2.addresses import Addresses
from localcloud.api.patches.replace import replace


def patch_addresses() -> None:
    """Lets every interface get its address from one allocator."""
    addresses = Addresses()
    create = EC2Backend.create_network_interface

    def available(subnet: Subnet, instance: Instance) -> str:
        return addresses.next_in(subnet.ec2_backend, subnet)

    def create_with_address(ec2: EC2Backend, subnet: Any, private_ip_address: Any, *args: Any, **options: Any) -> Any:
        listed = args[0] if args else options.get("private_ip_addresses")
        if not private_ip_address and not listed:
            known = ec2.get_subnet(subnet) if isinstance(subnet, str) else subnet
            private_ip_address = addresses.next_in(ec2, known) if known else private_ip_address
        return create(ec2, subnet, private_ip_address, *args, **options)

    replace(Subnet, "get_available_subnet_ip", available)
    replace(EC2Backend, "create_network_interface", create_with_address)
