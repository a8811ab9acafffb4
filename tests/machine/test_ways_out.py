"""A private subnet reaches the outside through its NAT gateway only, a public one with a public address.

The outside is another network namespace of this machine, in the range for benchmarks (RFC 2544).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.conftest import Cluster
from tests.support.local_cloud import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(900)]

NAMESPACE, LINK = "centavo-test-out", "centavotestout"
HERE, OUTSIDE, PORT = "198.18.77.1", "198.18.77.2", 8000


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def outside() -> Iterator[str]:
    """A server outside of the cloud. Returns the command by which a machine asks it."""
    _ip("netns", "add", NAMESPACE)
    server = None
    try:
        _ip("link", "add", LINK, "type", "veth", "peer", "eth0", "netns", NAMESPACE)
        _ip("addr", "add", f"{HERE}/30", "dev", LINK)
        _ip("link", "set", LINK, "up")
        _ip("-n", NAMESPACE, "addr", "add", f"{OUTSIDE}/30", "dev", "eth0")
        _ip("-n", NAMESPACE, "link", "set", "eth0", "up")
        Path(f"/proc/sys/net/ipv4/conf/{LINK}/forwarding").write_text("1")
        server = subprocess.Popen(
            ["ip", "netns", "exec", NAMESPACE, "python3", "-m", "http.server", str(PORT), "--bind", OUTSIDE],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/proc/self/fdinfo",
        )  # fmt: skip
        answers = ["timeout", "1", "bash", "-c", f"</dev/tcp/{OUTSIDE}/{PORT}"]
        wait_until(lambda: subprocess.run(answers, check=False, capture_output=True).returncode == 0, "the server")
        yield f"timeout 5 bash -c '</dev/tcp/{OUTSIDE}/{PORT}' 2>/dev/null && echo reached || echo cut off"
    finally:
        if server:
            server.kill()
            server.wait()
        _ip("netns", "del", NAMESPACE)


def test_the_outside_is_reached_through_the_nat_gateway_or_with_a_public_address(
    cluster: Cluster, outside: str
) -> None:
    cloud = cluster.cloud
    assert cluster.on_worker(outside) == "reached"
    assert cloud.on(cluster.head, outside) == "reached"
    cloud.ec2.delete_nat_gateway(NatGatewayId=cloud.nat_gateway)
    wait_until(lambda: cluster.on_worker(outside) == "cut off", "the end of the NAT gateway")
    assert cloud.on(cluster.head, outside) == "reached"


def test_names_are_resolved_without_any_way_out(cluster: Cluster) -> None:
    resolver = cluster.on_worker("cat /etc/resolv.conf")
    assert resolver == "nameserver 169.254.169.253", "the VPC's own name server"


def test_a_machine_does_not_reach_services_of_the_machine_that_it_runs_on(cluster: Cluster) -> None:
    router = cluster.worker_address.rpartition(".")[0] + ".1"
    ask = f"timeout 4 bash -c '</dev/tcp/{router}/{PORT}' 2>&1; echo $?"
    server = subprocess.Popen(
        ["python3", "-m", "http.server", str(PORT), "--bind", router],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/proc/self/fdinfo",
    )  # fmt: skip
    try:
        wait_until(lambda: f"{router}:{PORT}" in _listening(), "a service of this machine")
        assert cluster.on_worker(ask) == "124", "dropped, not refused"
    finally:
        server.kill()
        server.wait()


def _listening() -> str:
    return subprocess.run(["ss", "-ltn"], capture_output=True, text=True, check=True).stdout
