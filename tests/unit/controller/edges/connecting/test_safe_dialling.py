"""No packet for an address of an imagined cloud leaves this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.domain.errors import CentavoError
from controller.domain.observed.instance import Instance
from controller.edges.connecting import safe_dialling
from controller.edges.connecting.safe_dialling import check_may_be_dialled, is_own_address
from controller.edges.connecting.ssh import SshAccess

HERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:5590"}
ROUTES = """Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
*	0000140A	00000000	0200	0	0	4000	0000FFFF	0	0	0
cvb1	0000140A	00000000	0001	0	0	0	00F0FFFF	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
"""


@pytest.fixture
def kernel(tmp_path: Path) -> dict[str, Path]:
    """A kernel with a default route, a blackhole for 10.20.0.0/16 and a bridge for 10.20.0.0/20."""
    (tmp_path / "route").write_text(ROUTES)
    (tmp_path / "net" / "cvb1" / "bridge").mkdir(parents=True)
    (tmp_path / "net" / "eth0").mkdir()
    return {"routes": tmp_path / "route", "interfaces": tmp_path / "net"}


@pytest.mark.parametrize("address", ["127.20.1.4", "10.20.1.4", "10.20.200.1"])
def test_loopback_a_bridge_and_a_blackhole_are_dialled(kernel: dict[str, Path], address: str) -> None:
    check_may_be_dialled(address, HERE, **kernel)


@pytest.mark.parametrize("address", ["10.21.1.4", "198.51.100.7", "192.0.2.9"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:5590", "http://localhost:5590", "http://[::1]:5590"])
def test_what_would_leave_by_a_gateway_or_a_cable_is_not_dialled(
    kernel: dict[str, Path], address: str, url: str
) -> None:
    with pytest.raises(CentavoError, match=f"{address} is not dialled"):
        check_may_be_dialled(address, {"AWS_ENDPOINT_URL": url}, **kernel)


def test_a_machine_of_the_cloud_itself_dials_all_of_its_cloud(
    kernel: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_dialling, "is_own_address", lambda address: address == "169.254.169.254")
    check_may_be_dialled("10.21.1.4", HERE, **kernel)


def test_the_kernel_knows_this_machines_addresses() -> None:
    assert is_own_address("127.0.0.1") and not is_own_address("192.0.2.1")


def test_without_any_route_nothing_is_dialled(tmp_path: Path) -> None:
    with pytest.raises(CentavoError, match="is not dialled"):
        check_may_be_dialled("10.20.1.4", HERE, tmp_path / "missing", tmp_path)


@pytest.mark.parametrize("environment", [{}, {"AWS_ENDPOINT_URL": "https://ec2.us-east-1.amazonaws.com"}])
def test_on_aws_every_address_is_dialled(kernel: dict[str, Path], environment: dict[str, str]) -> None:
    check_may_be_dialled("10.21.1.4", environment, **kernel)


def test_ssh_asks_before_it_names_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    head = Instance("i-1", "t3.small", "head", "running", private_ip="198.18.0.200", public_ip="198.18.0.201")
    worker = Instance("i-2", "t3.small", "worker", "running", private_ip="198.18.0.202")
    access = SshAccess("admin", 22, Path("/k/id"), Path("/k/known_hosts"), head, True)
    assert access.address(head) == "198.18.0.201"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:5590")
    for node in (head, worker):
        with pytest.raises(CentavoError, match="is not dialled"):
            access.address(node)
