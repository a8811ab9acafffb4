"""The nftables table of a cloud."""

from __future__ import annotations

import pytest

from localcloud.hosts.machine.firewall.table import Ranges, Uplink, partitions, table_of, with_way_out
from localcloud.hosts.machine.names import Names
from localcloud.link.network import Network, Rule, SecurityGroup, Subnet
from localcloud.link.spec import HostFault, HostSpec
from tests.unit.localcloud.hosts.machine.specs import spec_of

NAMES = Names("cvabc123")
RANGES = Ranges("10.20.0.0/16", "198.51.100.0/24")
NETWORK = Network(
    (Subnet("subnet-1", "10.20.1.0/24", "nat"),),
    (SecurityGroup("sg-1", (Rule(False, "tcp", 22, 22, group="sg-1"), Rule(True, "-1", cidr="0.0.0.0/0"))),),
)


def _table(*specs: HostSpec, forwarded: bool = True) -> str:
    return table_of(NAMES, RANGES, Uplink("eth0", forwarded), NETWORK, specs)


def _chain(table: str, name: str) -> list[str]:
    lines = table.split(f"chain {name} {{\n")[1].split("\n  }")[0].splitlines()
    return [line.strip().rstrip(";") for line in lines]


def test_loading_the_table_replaces_the_one_before_at_one_moment() -> None:
    assert _table().splitlines()[:3] == ["table ip cvabc123", "delete table ip cvabc123", "table ip cvabc123 {"]


def test_packets_for_the_ranges_leave_by_the_clouds_own_links_only() -> None:
    assert _chain(_table(), "guard")[1] == 'ip daddr @ranges oifname != { "lo", "cvabc123*" } drop'
    assert "elements = { 10.20.0.0/16, 198.51.100.0/24 }" in _table()


def test_each_instance_has_a_chain_for_each_direction() -> None:
    table = _table(spec_of(4, security_groups=("sg-1",)), spec_of(5))
    assert _chain(table, "out_0a140104") == ["return", "drop"]
    assert _chain(table, "in_0a140104") == ["ip saddr @sg_1 tcp dport 22-22 return", "drop"]
    assert _chain(table, "in_0a140105") == ["drop"], "without a security group nothing passes"
    assert _chain(table, "outbound")[-1] == _chain(table, "inbound")[-1] == "drop"


def test_without_instances_everything_is_dropped() -> None:
    assert _chain(_table(), "outbound") == _chain(_table(), "inbound") == ["drop"]


def test_a_public_address_is_translated_to_the_private_one() -> None:
    table = _table(spec_of(4, public_address="198.51.100.1"))
    assert "map public { type ipv4_addr : ipv4_addr; elements = { 198.51.100.1 : 10.20.1.4 }; }" in table


def test_a_machine_that_did_not_forward_before_does_not_forward_for_others() -> None:
    assert _chain(_table(forwarded=False), "forward")[-1] == 'iifname "eth0" drop'
    assert 'iifname "eth0" drop' not in _chain(_table(forwarded=True), "forward")


@pytest.mark.parametrize(
    ("way_out", "public_address", "reaches"),
    [
        ("nat", None, True),
        ("internet", "198.51.100.1", True),
        ("internet", None, False),
        ("none", "198.51.100.1", False),
    ],
)
def test_the_outside_is_reached_by_a_nat_gateway_or_a_public_address(
    way_out: str, public_address: str | None, reaches: bool
) -> None:
    network = Network((Subnet("subnet-1", "10.20.1.0/24", way_out),))  # type: ignore[arg-type]
    found = with_way_out(network, [spec_of(4, public_address=public_address)])
    assert found == (["10.20.1.4"] if reaches else [])


def test_a_partition_cuts_both_directions_before_anything_passes() -> None:
    alone = spec_of(4, faults=(HostFault("partition"),))
    assert partitions([alone]) == ["ip saddr 10.20.1.4 drop", "ip daddr 10.20.1.4 drop"]
    from_one = spec_of(4, faults=(HostFault("partition", "i-5", "10.20.1.5"), HostFault("freeze")))
    assert partitions([from_one]) == [
        "ip saddr 10.20.1.4 ip daddr 10.20.1.5 drop",
        "ip daddr 10.20.1.4 ip saddr 10.20.1.5 drop",
    ]
    assert _chain(_table(alone), "forward")[1] == "ip saddr 10.20.1.4 drop"
