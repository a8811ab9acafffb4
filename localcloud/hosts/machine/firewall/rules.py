"""Rules of security groups in the words of nftables."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

from localcloud.link.network import Rule

ALL = "-1"


def set_of(group_id: str) -> str:
    """Returns the name of the set with the addresses of a security group's members."""
    return group_id.replace("-", "_")


def line_of(rule: Rule, known: frozenset[str]) -> str | None:
    """Returns a rule as a line of a chain, which returns to the caller where the rule allows a packet.

    Args:
        rule: a rule of a security group.
        known: the ids of all security groups.

    Returns:
        The line; None if the rule allows nothing here: for IPv6, a prefix list, or a security group that is gone.
    """
    side = "daddr" if rule.outbound else "saddr"
    if rule.cidr is not None:
        network = ipaddress.IPv4Network(rule.cidr, strict=False)
        peer = f"ip {side} {network} " if network.prefixlen else ""
    elif rule.group is not None and rule.group in known:
        peer = f"ip {side} @{set_of(rule.group)} "
    else:
        return None
    return f"{peer}{_protocol(rule)}return"


def chain_of(rules: Iterable[Rule], known: Iterable[str]) -> list[str]:
    """Returns the lines of an instance's chain: what no rule allows is dropped."""
    ids = frozenset(known)
    return [*(line for rule in rules if (line := line_of(rule, ids)) is not None), "drop"]


def members(groups_of: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Returns the addresses of each security group's members.

    Args:
        groups_of: the security groups of each address.
    """
    found: dict[str, list[str]] = {}
    for address, groups in groups_of.items():
        for group in groups:
            found.setdefault(group, []).append(address)
    return found


def _protocol(rule: Rule) -> str:
    if rule.protocol == ALL:
        return ""
    if rule.protocol in ("tcp", "udp"):
        if rule.from_port is None or rule.from_port < 0 or rule.to_port is None:
            return f"ip protocol {rule.protocol} "
        return f"{rule.protocol} dport {rule.from_port}-{rule.to_port} "
    if rule.protocol == "icmp":
        # From and to are type and code here; -1 stands for all.
        kind = "" if rule.from_port in (None, -1) else f"icmp type {rule.from_port} "
        code = "" if rule.to_port in (None, -1) or not kind else f"icmp code {rule.to_port} "
        return kind + code or "ip protocol icmp "
    return f"ip protocol {rule.protocol} "
