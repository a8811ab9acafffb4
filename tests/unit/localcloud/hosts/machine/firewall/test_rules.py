"""Security groups in the words of nftables."""

from __future__ import annotations

import pytest

from localcloud.hosts.machine.firewall.rules import chain_of, line_of, members
from localcloud.link.network import Rule

KNOWN = frozenset({"sg-1", "sg-2"})


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (Rule(False, "tcp", 22, 22, cidr="203.0.113.7/32"), "ip saddr 203.0.113.7/32 tcp dport 22-22 return"),
        (Rule(True, "tcp", 0, 65535, cidr="10.20.0.0/16"), "ip daddr 10.20.0.0/16 tcp dport 0-65535 return"),
        (Rule(True, "tcp", 443, 443, cidr="0.0.0.0/0"), "tcp dport 443-443 return"),
        (Rule(True, "-1", cidr="0.0.0.0/0"), "return"),
        (Rule(False, "tcp", 22, 22, cidr="10.0.0.5/8"), "ip saddr 10.0.0.0/8 tcp dport 22-22 return"),
        (Rule(False, "tcp", -1, -1, cidr="0.0.0.0/0"), "ip protocol tcp return"),
        (Rule(False, "udp", cidr="0.0.0.0/0"), "ip protocol udp return"),
        (Rule(False, "udp", 53, 53, group="sg-2"), "ip saddr @sg_2 udp dport 53-53 return"),
        (Rule(True, "tcp", 1024, 65535, group="sg-1"), "ip daddr @sg_1 tcp dport 1024-65535 return"),
        (Rule(False, "icmp", -1, -1, cidr="0.0.0.0/0"), "ip protocol icmp return"),
        (Rule(False, "icmp", 8, -1, cidr="0.0.0.0/0"), "icmp type 8 return"),
        (Rule(False, "icmp", 3, 4, cidr="0.0.0.0/0"), "icmp type 3 icmp code 4 return"),
        (Rule(False, "50", cidr="10.0.0.0/8"), "ip saddr 10.0.0.0/8 ip protocol 50 return"),
    ],
)
def test_a_rule_lets_its_packets_return(rule: Rule, line: str) -> None:
    assert line_of(rule, KNOWN) == line


@pytest.mark.parametrize("rule", [Rule(False, "tcp", 22, 22, group="sg-gone"), Rule(False, "tcp", 22, 22)])
def test_a_rule_for_a_group_that_is_gone_or_for_ipv6_allows_nothing(rule: Rule) -> None:
    assert line_of(rule, KNOWN) is None


def test_what_no_rule_allows_is_dropped() -> None:
    assert chain_of([], KNOWN) == ["drop"]
    assert chain_of([Rule(True, "-1", cidr="0.0.0.0/0")], KNOWN) == ["return", "drop"]


def test_a_group_has_the_addresses_of_its_members() -> None:
    groups = {"10.20.1.4": ["sg-1", "sg-2"], "10.20.1.5": ["sg-2"]}
    assert members(groups) == {"sg-1": ["10.20.1.4"], "sg-2": ["10.20.1.4", "10.20.1.5"]}
