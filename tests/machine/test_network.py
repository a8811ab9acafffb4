"""Bridges, namespaces and the firewall's table in the kernel, without machines."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator

import pytest

from localcloud.hosts.machine.firewall.firewall import Firewall
from localcloud.hosts.machine.firewall.table import Ranges, Uplink
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network import ranges
from localcloud.hosts.machine.network.addresses import METADATA
from localcloud.hosts.machine.network.bridges import Bridges
from localcloud.hosts.machine.network.namespace import Door
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.network import Network, Rule, SecurityGroup, Subnet
from localcloud.link.spec import HostFault, HostSpec
from tests.support.machine_cloud import random_ranges, traces
from tests.unit.localcloud.hosts.machine.specs import spec_of

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("machines")]

NAMES = Names("cvtests")


class Place:
    """A claimed range, and one subnet in it."""

    def __init__(self) -> None:
        self.ranges = random_ranges()
        self.prefix = self.ranges["private_cidr"].removesuffix(".0.0/16")
        self.subnet = Subnet("subnet-1", f"{self.prefix}.1.0/24", "nat")
        self.bridges = Bridges(NAMES, self.ranges["public_cidr"])

    def spec(self, number: int, **entries: object) -> HostSpec:
        return spec_of(number, address=f"{self.prefix}.1.{number}", **entries)


@pytest.fixture
def place() -> Iterator[Place]:
    """A place whose ranges are blackholes. What the test makes is gone after it."""
    one = Place()
    ranges.claim(one.ranges.values())
    one.bridges.open()
    yield one
    for number in (4, 5):
        one.bridges.unplug(one.spec(number).instance_id)
    one.bridges.follow_subnets([])
    subprocess.run(["ip", "link", "del", NAMES.gate], check=True)
    ranges.release(one.ranges.values())
    assert not [line for lines in traces().values() for line in lines if NAMES.prefix in line or one.prefix in line]


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout


def _route_to(address: str) -> str | None:
    words = ["ip", "-j", "route", "get", "fibmatch", address]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return None if done.returncode else json.loads(done.stdout)[0].get("dev")


def test_a_claimed_range_is_a_blackhole_and_cannot_be_claimed_twice(place: Place) -> None:
    assert _route_to(f"{place.prefix}.1.4") is None
    with pytest.raises(MachineError, match=r"uses addresses of .* already: blackhole"):
        ranges.claim([f"{place.prefix}.0.0/20"])


def test_a_subnets_bridge_is_the_way_to_its_addresses_and_goes_with_the_subnet(place: Place) -> None:
    place.bridges.plug(place.spec(4), place.subnet)
    assert _route_to(f"{place.prefix}.1.4") == NAMES.bridge("subnet-1")
    place.bridges.unplug(place.spec(4).instance_id)
    again = Subnet("subnet-2", place.subnet.cidr, "nat")
    place.bridges.follow_subnets([again])
    assert _route_to(f"{place.prefix}.1.4") is None
    place.bridges.plug(place.spec(4), again)
    assert _route_to(f"{place.prefix}.1.4") == NAMES.bridge("subnet-2")


def test_the_mac_address_of_a_bridge_stays_when_a_machine_is_plugged_in(place: Place) -> None:
    def mac() -> str:
        return str(json.loads(_ip("-j", "link", "show", NAMES.bridge("subnet-1")))[0]["address"])

    place.bridges.plug(place.spec(4), place.subnet)
    before = mac()
    place.bridges.plug(place.spec(5), place.subnet)
    _ip("link", "set", NAMES.cable(place.spec(5).instance_id), "address", "00:00:00:00:00:01")
    assert mac() == before, "the machines that are there send to the address that they know"


def test_sockets_are_served_within_a_namespace_and_not_outside(place: Place) -> None:
    namespace = place.bridges.plug(place.spec(4), place.subnet)
    (door,) = namespace.open([Door(METADATA, 80)])
    assert namespace.answers(METADATA, 80, 2)
    door.close()
    assert not namespace.answers(METADATA, 80, 2)
    with pytest.raises(MachineError, match="cannot be served"):
        namespace.open([Door("192.0.2.77", 80)])


@pytest.mark.parametrize(
    ("rules", "faults", "reached"),
    [
        ((Rule(False, "tcp", 8000, 8000, group="sg-1"), Rule(True, "-1", cidr="0.0.0.0/0")), (), True),
        ((Rule(False, "tcp", 8001, 8001, group="sg-1"), Rule(True, "-1", cidr="0.0.0.0/0")), (), False),
        ((Rule(False, "tcp", 8000, 8000, group="sg-1"),), (), False),
        (
            (Rule(False, "-1", cidr="0.0.0.0/0"), Rule(True, "-1", cidr="0.0.0.0/0")),
            (HostFault("partition"),),
            False,
        ),
    ],
    ids=["allowed", "another port", "nothing outbound", "cut off"],
)
def test_the_kernel_holds_both_sides_to_their_security_groups(
    place: Place, rules: tuple[Rule, ...], faults: tuple[HostFault, ...], reached: bool
) -> None:
    one, other = (place.spec(number, security_groups=("sg-1",)) for number in (4, 5))
    if faults:
        one = place.spec(4, security_groups=("sg-1",), faults=faults)
    firewall = Firewall(NAMES, Ranges(*place.ranges.values()), Uplink(None, True))
    try:
        firewall.follow(Network((place.subnet,), (SecurityGroup("sg-1", rules),)), [one, other])
        from_here, to_there = (place.bridges.plug(spec, place.subnet) for spec in (one, other))
        (door,) = to_there.open([Door(other.address, 8000)])
        assert from_here.answers(other.address, 8000, 2) is reached
        door.close()
    finally:
        subprocess.run(["nft", "delete", "table", "ip", NAMES.table], check=True)


def test_the_guard_drops_what_would_leave_although_the_routes_allow_it(place: Place) -> None:
    firewall = Firewall(NAMES, Ranges(*place.ranges.values()), Uplink(None, True))
    address = f"{place.prefix}.99.1"
    subprocess.run(["ip", "link", "add", "cguard0", "type", "veth", "peer", "cguard1"], check=True)
    try:
        firewall.follow(Network(), [])
        subprocess.run(["ip", "link", "set", "cguard0", "up"], check=True)
        subprocess.run(["ip", "route", "add", f"{address}/32", "dev", "cguard0"], check=True)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(PermissionError):
            one.sendto(b"stray", (address, 9))
    finally:
        subprocess.run(["ip", "link", "del", "cguard0"], check=True)
        subprocess.run(["nft", "delete", "table", "ip", NAMES.table], check=True)
