"""The addresses that every machine knows, as on EC2."""

from __future__ import annotations

import ipaddress

METADATA = "169.254.169.254"
"""The instance metadata service."""

RESOLVER = "169.254.169.253"
"""The name server of every VPC (https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html)."""


def router(cidr: str) -> str:
    """Returns the address of a subnet's router: its first one."""
    return str(ipaddress.IPv4Network(cidr)[1])


def own_public_address(public_cidr: str) -> str:
    """Returns the address from which this machine calls public addresses: the last one of the range."""
    return str(ipaddress.IPv4Network(public_cidr)[-2])
