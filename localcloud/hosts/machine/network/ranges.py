"""The ranges of a cloud's addresses: blackholes on this machine, set before anything else and removed last.

A route to a bridge is more specific than the blackhole, and so wins. Without such a route, a packet for the ranges goes
nowhere: `connect` fails at once.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from typing import Any

from localcloud.hosts.machine.network.name_server import name_server_of
from localcloud.hosts.machine.tools import MachineError, run, succeeds

METRIC = "4000"  # a route of the same length, to a bridge, has a smaller metric and wins

Network = ipaddress.IPv4Network


def claim(ranges: Iterable[str]) -> None:
    """Makes the ranges blackholes, and checks that they are.

    Raises:
        MachineError: this machine uses addresses of a range already, or a packet for it would still leave.
    """
    ranges = list(ranges)
    check_unused(ranges)
    for cidr in ranges:
        run("ip", "route", "add", "blackhole", cidr, "metric", METRIC)
    for cidr in ranges:
        for address in samples(Network(cidr)):
            if succeeds("ip", "route", "get", address):
                release(ranges)
                raise MachineError(
                    f"a packet for {address} would leave this machine although {cidr} is a blackhole: another rule "
                    "(`ip rule`) comes first. Nothing was started; give other ranges in the entry `machines`"
                )


def release(ranges: Iterable[str]) -> None:
    """Removes the blackholes. Harmless where there are none."""
    for cidr in ranges:
        succeeds("ip", "route", "del", "blackhole", cidr, "metric", METRIC)


def check_unused(ranges: Iterable[str]) -> None:
    """Checks that this machine uses no address of the ranges.

    Raises:
        MachineError: it does.
    """
    routes = json.loads(run("ip", "-j", "-4", "route", "show", "table", "all") or "[]")
    name_server = name_server_of()
    for cidr in ranges:
        taken = uses(Network(cidr), routes)
        if name_server and ipaddress.IPv4Address(name_server) in Network(cidr):
            taken = f"its name server {name_server}"
        if taken:
            raise MachineError(
                f"this machine uses addresses of {cidr} already: {taken}. Give another range as "
                "`machines: {private_cidr: …, public_cidr: …}` in the configuration, or end what uses it"
            )


def uses(network: Network, routes: list[dict[str, Any]]) -> str | None:
    """Returns the first of this machine's routes that leads to addresses of a network, in words; None if none does.

    Args:
        network: the network.
        routes: what `ip -j route show table all` prints.
    """
    for route in routes:
        if route["dst"] != "default" and Network(route["dst"]).overlaps(network):
            kind = route.get("type", "unicast")
            return f"{kind} {route['dst']}" + (f" dev {route['dev']}" if "dev" in route else "")
    return None


def samples(network: Network) -> list[str]:
    """Returns addresses all over a network."""
    step = max(1, network.num_addresses // 16)
    return [str(network[position]) for position in range(1, network.num_addresses - 1, step)]
