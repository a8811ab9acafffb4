"""The nftables table of a cloud as one text. Loading it replaces the table that there was, at one moment."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localcloud.hosts.machine.firewall.rules import chain_of, members, set_of
from localcloud.hosts.machine.names import Names
from localcloud.link.network import Network, SecurityGroup
from localcloud.link.spec import HostSpec

LINK_LOCAL = "169.254.0.0/16"


@dataclass(frozen=True)
class Ranges:
    """The private and the public addresses of a cloud."""

    private: str
    public: str


@dataclass(frozen=True)
class Uplink:
    """How this machine reaches the outside. `forwarded` says whether it forwarded packets from there before."""

    name: str | None
    forwarded: bool


def table_of(names: Names, ranges: Ranges, uplink: Uplink, network: Network, specs: Sequence[HostSpec]) -> str:
    """Returns the text for `nft -f -`.

    Args:
        names: the names of the cloud.
        ranges: its addresses.
        uplink: the way out of this machine.
        network: subnets and security groups.
        specs: the instances that run.
    """
    bridges, cuts = f'"{names.bridges}*"', partitions(specs)
    lines = [f"table ip {names.table}", f"delete table ip {names.table}", f"table ip {names.table} {{"]
    lines += _sets(ranges, network, specs)
    lines += _instance_chains(network, specs)
    lines += _chain("outbound", [_jump("saddr", "out", specs), "drop"] if specs else ["drop"])
    lines += _chain("inbound", [_jump("daddr", "in", specs), "drop"] if specs else ["drop"])
    lines += _chain("forward", ["type filter hook forward priority filter", *cuts, *_forwarded(names, uplink, bridges)])
    lines += _chain("input", ["type filter hook input priority filter", *cuts, *_to_this_machine(names, bridges)])
    lines += _chain("output", ["type filter hook output priority filter", *cuts, *_from_this_machine(bridges)])
    lines += _chain("guard", ["type filter hook postrouting priority 400", _guard(names)])
    lines += _chain("translate_own", ["type nat hook output priority -100", "dnat to ip daddr map @public"])
    lines += _chain(
        "translate", ["type nat hook prerouting priority -100", f"iifname {bridges} dnat to ip daddr map @public"]
    )
    masquerade = f'ip saddr {ranges.private} oifname != "{names.prefix}*" masquerade'
    lines += _chain("leave", ["type nat hook postrouting priority 100", masquerade])
    return "\n".join([*lines, "}", ""])


def partitions(specs: Iterable[HostSpec]) -> list[str]:
    """Returns the lines that cut instances off, from all others or from one. They stand before all that lets pass."""
    lines = []
    for spec in specs:
        for fault in spec.faults:
            if fault.kind == "partition":
                there = {"saddr": "", "daddr": ""}
                if fault.other_address:
                    there = {"saddr": f" ip daddr {fault.other_address}", "daddr": f" ip saddr {fault.other_address}"}
                lines += [f"ip {side} {spec.address}{other} drop" for side, other in there.items()]
    return lines


def _forwarded(names: Names, uplink: Uplink, bridges: str) -> list[str]:
    """Packets between machines, and from machines to the outside. Both security groups have to allow a packet."""
    lines = [
        "ct state established,related accept",
        f"iifname {bridges} ip saddr != @instances drop",
        f"iifname {bridges} ip daddr {LINK_LOCAL} drop",
        f"iifname {bridges} tcp flags syn tcp option maxseg size set rt mtu",
        f"iifname {bridges} jump outbound",
        f"iifname {bridges} oifname {bridges} jump inbound",
        f"iifname {bridges} oifname {bridges} accept",
        f"iifname {bridges} ip daddr @ranges drop",
        f"iifname {bridges} ip saddr @with_way_out accept",
        f"iifname {bridges} drop",
        f'oifname "{names.prefix}*" drop',
    ]
    if uplink.name and not uplink.forwarded:
        lines.append(f'iifname "{uplink.name}" drop')  # this machine did not forward before, so it does not now
    return lines


def _to_this_machine(names: Names, bridges: str) -> list[str]:
    """This machine is the router of the subnets. As EC2's, it answers pings and nothing else."""
    return [
        f"iifname {bridges} ct state established,related accept",
        f"iifname {bridges} icmp type echo-request accept",
        f'iifname "{names.prefix}*" drop',
    ]


def _from_this_machine(bridges: str) -> list[str]:
    """This machine is outside. The security groups of the instance have to allow what it sends."""
    return [
        f"oifname {bridges} ct state established,related accept",
        f"oifname {bridges} jump inbound",
    ]


def _guard(names: Names) -> str:
    """No packet for an address of the cloud may leave, whatever the routes say."""
    return f'ip daddr @ranges oifname != {{ "lo", "{names.prefix}*" }} drop'


def _sets(ranges: Ranges, network: Network, specs: Sequence[HostSpec]) -> list[str]:
    members_of = members({spec.address: spec.security_groups for spec in specs})
    public = [f"{spec.public_address} : {spec.address}" for spec in specs if spec.public_address]
    lines = _set("ranges", "ipv4_addr; flags interval", [ranges.private, ranges.public])
    lines += _set("instances", "ipv4_addr", [spec.address for spec in specs])
    lines += _set("with_way_out", "ipv4_addr", with_way_out(network, specs))
    for group in network.groups:
        lines += _set(set_of(group.group_id), "ipv4_addr", members_of.get(group.group_id, []))
    lines += _set("public", "ipv4_addr : ipv4_addr", public, kind="map")
    return lines


def with_way_out(network: Network, specs: Iterable[HostSpec]) -> list[str]:
    """Returns the addresses that reach the outside: through a NAT gateway, or with a public address of their own."""
    ways = {subnet.subnet_id: subnet.way_out for subnet in network.subnets}
    return [
        spec.address
        for spec in specs
        if ways.get(spec.subnet_id or "") == "nat"
        or (ways.get(spec.subnet_id or "") == "internet" and spec.public_address)
    ]


def _instance_chains(network: Network, specs: Iterable[HostSpec]) -> list[str]:
    groups: dict[str, SecurityGroup] = {group.group_id: group for group in network.groups}
    lines = []
    for spec in specs:
        rules = [rule for name in spec.security_groups if name in groups for rule in groups[name].rules]
        lines += _chain(_name("out", spec.address), chain_of([rule for rule in rules if rule.outbound], groups))
        lines += _chain(_name("in", spec.address), chain_of([rule for rule in rules if not rule.outbound], groups))
    return lines


def _jump(side: str, direction: str, specs: Iterable[HostSpec]) -> str:
    """Each instance has a chain. It returns where a packet is allowed; the next line drops what met no chain."""
    targets = ", ".join(f"{spec.address} : goto {_name(direction, spec.address)}" for spec in specs)
    return f"ip {side} vmap {{ {targets} }}"


def _name(direction: str, address: str) -> str:
    return f"{direction}_{ipaddress.IPv4Address(address).packed.hex()}"


def _set(name: str, type_: str, elements: Sequence[str], kind: str = "set") -> list[str]:
    content = f" elements = {{ {', '.join(elements)} }};" if elements else ""
    return [f"  {kind} {name} {{ type {type_};{content} }}"]


def _chain(name: str, lines: Iterable[str]) -> list[str]:
    return [f"  chain {name} {{", *(f"    {line};" for line in lines), "  }"]
