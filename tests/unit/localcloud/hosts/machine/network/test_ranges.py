"""The ranges of a cloud: whether this machine uses them already."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from localcloud.hosts.machine.network.addresses import own_public_address, router
from localcloud.hosts.machine.network.ranges import samples, uses

NETWORK = ipaddress.IPv4Network("10.20.0.0/16")


@pytest.mark.parametrize(
    ("route", "taken"),
    [
        ({"dst": "10.20.3.0/24", "dev": "wg0"}, "unicast 10.20.3.0/24 dev wg0"),
        ({"dst": "10.0.0.0/8", "dev": "eth0"}, "unicast 10.0.0.0/8 dev eth0"),
        ({"type": "local", "dst": "10.20.1.1", "dev": "eth0"}, "local 10.20.1.1 dev eth0"),
        ({"type": "blackhole", "dst": "10.20.0.0/16"}, "blackhole 10.20.0.0/16"),
        ({"dst": "default", "dev": "eth0"}, None),
        ({"dst": "10.21.0.0/16", "dev": "eth0"}, None),
    ],
)
def test_a_route_that_leads_to_the_range_is_named(route: dict[str, Any], taken: str | None) -> None:
    assert uses(NETWORK, [route]) == taken


def test_samples_lie_all_over_a_range() -> None:
    found = [ipaddress.IPv4Address(address) for address in samples(NETWORK)]
    assert len(found) == 16
    assert all(address in NETWORK for address in found)
    assert len(samples(ipaddress.IPv4Network("198.51.100.0/28"))) >= 4


def test_a_subnet_has_its_router_first_and_the_public_range_this_machine_last() -> None:
    assert router("10.20.128.0/20") == "10.20.128.1"
    assert own_public_address("198.51.100.0/24") == "198.51.100.254"
