"""Bridges of subnets, cables to machines, and routes to public addresses.

The ports of a bridge are isolated from each other, and the bridge answers for every address of its subnet
(`proxy_arp_pvlan`). So each packet from one machine to another passes this machine's firewall, within a subnet too.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import threading
from collections.abc import Iterable
from pathlib import Path

from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network.addresses import METADATA, RESOLVER, own_public_address, router
from localcloud.hosts.machine.network.namespace import Namespace
from localcloud.hosts.machine.tools import run, succeeds
from localcloud.link.network import Subnet
from localcloud.link.spec import HostSpec

KERNEL = Path("/proc/sys/net")
OF_A_BRIDGE = {
    "ipv4/conf/{name}/forwarding": "1",
    "ipv4/conf/{name}/proxy_arp_pvlan": "1",
    "ipv4/conf/{name}/send_redirects": "0",
    "ipv6/conf/{name}/disable_ipv6": "1",
}
MTU = "1400"  # EC2's is 9001; packets leave by this machine's uplink, whose MTU may be small


class Bridges:
    """All bridges and cables of one cloud."""

    def __init__(self, names: Names, public_cidr: str) -> None:
        self._names = names
        self._own_public_address = own_public_address(public_cidr)
        self._lock = threading.Lock()
        self._public: dict[str, str] = {}
        self._made: dict[str, str] = {}

    def open(self) -> None:
        """Makes the bridge that carries this machine's own public address.

        Raises:
            MachineError: it cannot be made.
        """
        _make_bridge(self._names.gate, f"{self._own_public_address}/32")

    def plug(self, spec: HostSpec, subnet: Subnet) -> Namespace:
        """Makes an instance's namespace, with its private address and a cable to its subnet's bridge.

        Raises:
            MachineError: it cannot be made. `unplug` removes what was made.
        """
        network, bridge = ipaddress.IPv4Network(subnet.cidr), self._names.bridge(subnet.subnet_id)
        with self._lock:  # two machines of one subnet may start at once
            if subnet.subnet_id not in self._made:
                _make_bridge(bridge, f"{router(subnet.cidr)}/{network.prefixlen}")
                self._made[subnet.subnet_id] = bridge
        namespace, cable = Namespace(self._names.namespace(spec.instance_id)), self._names.cable(spec.instance_id)
        namespace.make([METADATA, RESOLVER])
        run("ip", "link", "add", cable, "mtu", MTU, "type", "veth", "peer", "eth0", "mtu", MTU, "netns", namespace.name)
        _set(cable, {"ipv6/conf/{name}/disable_ipv6": "1"})
        run("ip", "link", "set", cable, "master", bridge)
        run("ip", "link", "set", cable, "type", "bridge_slave", "isolated", "on")
        lines = [
            f"addr add {spec.address}/{network.prefixlen} dev eth0",
            "link set eth0 up",
            f"route add default via {router(subnet.cidr)}",
        ]
        run("ip", "link", "set", cable, "up")
        run("ip", "-n", namespace.name, "-batch", "-", text="\n".join(lines))
        return namespace

    def unplug(self, instance_id: str) -> None:
        """Removes an instance's namespace and cable. Harmless if there are none."""
        succeeds("ip", "link", "del", self._names.cable(instance_id))
        Namespace(self._names.namespace(instance_id)).remove()

    def follow_subnets(self, subnets: Iterable[Subnet]) -> None:
        """Removes the bridges of subnets that are gone. Another subnet may have their addresses next."""
        with self._lock:
            for subnet_id in set(self._made) - {subnet.subnet_id for subnet in subnets}:
                succeeds("ip", "link", "del", self._made.pop(subnet_id))

    def follow_public(self, specs: Iterable[HostSpec]) -> None:
        """Lets exactly the public addresses of these instances be reachable from this machine.

        Raises:
            MachineError: a route cannot be set.
        """
        wanted = {spec.public_address: self._names.gate for spec in specs if spec.public_address}
        for address in set(self._public) - set(wanted):
            succeeds("ip", "route", "del", f"{address}/32", "dev", self._public[address])
        for address in set(wanted) - set(self._public):
            run("ip", "route", "replace", f"{address}/32", "dev", wanted[address], "src", self._own_public_address)
        self._public = wanted


def _make_bridge(name: str, address: str) -> None:
    run("ip", "link", "add", name, "address", _mac_of(name), "type", "bridge")
    _set(name, OF_A_BRIDGE)
    run("ip", "addr", "add", address, "dev", name)
    run("ip", "link", "set", name, "up")


def _mac_of(name: str) -> str:
    """Returns the bridge's own MAC address, which is locally administered.

    A bridge without one takes the lowest of its ports. It would change when a machine is plugged in, and the others,
    who know the old one, would reach nobody until they ask again: half a minute and more.
    """
    return ":".join(["02", *(f"{byte:02x}" for byte in hashlib.sha256(name.encode()).digest()[:5])])


def _set(name: str, settings: dict[str, str]) -> None:
    for path, value in settings.items():
        file = KERNEL / path.format(name=name)
        if file.exists():  # a kernel without IPv6 has none of its settings
            file.write_text(value)


def uplink() -> str | None:
    """Returns the interface of this machine's default route; None if it has none."""
    routes = json.loads(run("ip", "-j", "-4", "route", "show", "default") or "[]")
    return next((str(route["dev"]) for route in routes if "dev" in route), None)
