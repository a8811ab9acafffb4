"""Where a cloud listens: on addresses of loopback, and nowhere else."""

from __future__ import annotations

import ipaddress
import json
import socket

import psutil

from tests.support.local_cloud import LocalCloud

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


def test_every_socket_of_the_cloud_is_on_loopback(cloud: LocalCloud) -> None:
    address = cloud.ready(cloud.run())
    daemon = psutil.Process(json.loads((cloud.state_dir / "daemon.json").read_text())["pid"])
    processes = [daemon, *daemon.children(recursive=True)]
    sockets = [one for process in processes for one in process.connections("all") if one.family != socket.AF_UNIX]
    listening = {(one.laddr.ip, one.laddr.port) for one in sockets if one.status == psutil.CONN_LISTEN}
    open_to_datagrams = [one for one in sockets if one.type == socket.SOCK_DGRAM]
    assert listening >= {
        ("127.0.0.1", cloud.config["port"]),
        (address, cloud.config["ssh_port"]),
        (address, cloud.config["metadata_port"]),
    }
    assert all(ipaddress.ip_address(ip) in LOOPBACK for ip, _ in listening)
    assert {port for _, port in listening} == {cloud.config[name] for name in ("port", "ssh_port", "metadata_port")}
    assert open_to_datagrams == []


def test_no_socket_of_the_cloud_has_a_name_that_other_users_may_connect_to(cloud: LocalCloud) -> None:
    daemon = psutil.Process(json.loads((cloud.state_dir / "daemon.json").read_text())["pid"])
    processes = [daemon, *daemon.children(recursive=True)]
    unix = [one for process in processes for one in process.connections("unix")]
    assert [one.laddr for one in unix if one.laddr and one.status == psutil.CONN_LISTEN] == []
