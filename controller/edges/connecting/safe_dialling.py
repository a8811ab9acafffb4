"""Whether an address may be dialled: an imagined cloud on this machine gives addresses that real machines may have.

localcloud's machines have private and public addresses as on AWS. localcloud makes their ranges blackholes on this
machine, and routes that are more specific lead to its bridges. Without these routes, a packet for such an address would
leave this machine, and reach whoever really has the address. One of localcloud's machines has no such routes: all its
packets pass the bridge and the firewall of its cloud.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controller.domain.errors import CentavoError

ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2")
ROUTES = Path("/proc/net/route")
INTERFACES = Path("/sys/class/net")
REJECTED = 0x0200
"""The flag of a blackhole, and of other routes that lead nowhere (RTF_REJECT, `linux/route.h`)."""
METADATA = "169.254.169.254"
"""The address of the metadata service. localcloud's machines answer it themselves; EC2's, and all others, do not."""


@dataclass(frozen=True)
class Route:
    """A route of this machine."""

    network: ipaddress.IPv4Network
    interface: str
    leads_nowhere: bool


def check_may_be_dialled(
    address: str,
    environment: Mapping[str, str] = os.environ,
    routes: Path = ROUTES,
    interfaces: Path = INTERFACES,
) -> None:
    """Checks that packets for an address stay on this machine, if AWS's API is one on this machine.

    Args:
        address: the address of a node.
        environment: the variables that name the API's address.
        routes: the kernel's routes, in the form of `/proc/net/route`.
        interfaces: the folder with the kernel's network interfaces.

    Raises:
        CentavoError: they would leave this machine.
    """
    if not any(_is_on_loopback(environment.get(name, "")) for name in ENDPOINTS):
        return
    target = ipaddress.IPv4Address(address)
    if target.is_loopback or is_own_address(METADATA):
        return
    route = route_to(target, routes)
    if route is None or route.network.prefixlen == 0 or not _stays_here(route, interfaces):
        raise CentavoError(
            f"{address} is not dialled: AWS_ENDPOINT_URL names a cloud on this machine, but packets for {address} "
            "would leave this machine.",
            "Start that cloud with `python -m localcloud up --hosts machine`, which sets the routes, or unset "
            "AWS_ENDPOINT_URL to use AWS.",
        )


def is_own_address(address: str) -> bool:
    """Returns whether an interface of this machine has this address."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as asked:
        try:
            asked.bind((address, 0))
        except OSError:
            return False
    return True


def route_to(target: ipaddress.IPv4Address, routes: Path = ROUTES) -> Route | None:
    """Returns the most specific of this machine's routes to an address; None if there is none."""
    fitting = [route for route in _routes(routes) if target in route.network]
    return max(fitting, key=lambda route: route.network.prefixlen, default=None)


def _routes(path: Path) -> Iterator[Route]:
    """Reads `/proc/net/route`, whose addresses are hexadecimal, the last byte first."""
    try:
        lines = path.read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        columns = line.split()
        network, mask = (bytes.fromhex(columns[position])[::-1] for position in (1, 7))
        length = int.from_bytes(mask, "big").bit_count()
        yield Route(
            ipaddress.IPv4Network((network, length)), columns[0], leads_nowhere=bool(int(columns[3], 16) & REJECTED)
        )


def _stays_here(route: Route, interfaces: Path) -> bool:
    """Returns whether a route leads nowhere, or to a bridge of this machine."""
    return route.leads_nowhere or (interfaces / route.interface / "bridge").is_dir()


def _is_on_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
