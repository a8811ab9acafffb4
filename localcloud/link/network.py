"""The network of a cloud as the API describes it to the hosts' process: subnets, ways out, security groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WayOut = Literal["internet", "nat", "none"]
"""Where a subnet's default route leads: to an internet gateway, to a NAT gateway, or nowhere."""


@dataclass(frozen=True)
class Subnet:
    """A subnet. Behind an internet gateway, only instances with a public address reach the outside."""

    subnet_id: str
    cidr: str
    way_out: WayOut = "none"


@dataclass(frozen=True)
class Rule:
    """A rule of a security group: what may pass.

    `protocol` is `tcp`, `udp`, `icmp`, a protocol's number, or `-1` for all. The other side is a range of addresses
    (`cidr`) or the members of a security group (`group`).
    """

    outbound: bool
    protocol: str
    from_port: int | None = None
    to_port: int | None = None
    cidr: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class SecurityGroup:
    """A security group. What no rule allows is dropped; answers always pass."""

    group_id: str
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Network:
    """All subnets and security groups."""

    subnets: tuple[Subnet, ...] = ()
    groups: tuple[SecurityGroup, ...] = ()
