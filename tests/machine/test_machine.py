"""A machine is what a fresh EC2 instance is: a Debian 12 that cloud-init prepares, in a network of its own."""

from __future__ import annotations

import errno
import socket
import subprocess

import pytest

from tests.machine.conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(900)]

ASK_METADATA = """
import urllib.error, urllib.request
service = "http://169.254.169.254/latest"
def ask(path, method="GET", **headers):
    request = urllib.request.Request(f"{service}/{path}", method=method, headers=headers)
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return error.code
print(ask("meta-data/instance-id"))
token = ask("api/token", "PUT", **{"X-aws-ec2-metadata-token-ttl-seconds": "60"})
print(ask("meta-data/instance-id", **{"X-aws-ec2-metadata-token": token}))
"""


def test_ssh_lets_the_images_user_in_at_the_public_address_and_sudo_makes_root_of_it(cluster: Cluster) -> None:
    assert cluster.cloud.on(cluster.head, "id -un; sudo -n id -un").split() == ["admin", "root"]


@pytest.mark.parametrize(
    "shell", ["sh -c", "sudo -n runuser --login admin --command"], ids=["in a session of SSH", "at each boot"]
)
def test_programs_know_where_the_api_answers(cluster: Cluster, shell: str) -> None:
    said = cluster.cloud.on(cluster.head, f"{shell} 'echo $AWS_ENDPOINT_URL'")
    assert said == f"http://127.0.0.1:{cluster.cloud.config['port']}"


def test_the_user_data_ran_as_root_by_cloud_init_on_ec2(cluster: Cluster) -> None:
    assert cluster.cloud.on(cluster.head, "cat /var/tmp/hello; cloud-init status --wait | tail -1") == (
        "hello from root\nstatus: done"
    )
    assert "DataSourceEc2" in cluster.cloud.on(cluster.head, "cat /run/cloud-init/result.json")


def test_each_machine_has_its_own_keys_and_its_own_name(cluster: Cluster) -> None:
    show = "hostname; cat /etc/machine-id; cat /etc/ssh/ssh_host_ed25519_key.pub"
    head, worker = cluster.cloud.on(cluster.head, show).split("\n"), cluster.on_worker(show).split("\n")
    assert all(one != other for one, other in zip(head, worker, strict=True))
    assert worker[0] == "ip-" + cluster.worker_address.replace(".", "-")


def test_metadata_are_given_for_a_token_only(cluster: Cluster) -> None:
    found = cluster.cloud.on(cluster.head, f"python3 - <<'END'\n{ASK_METADATA}END\n")
    assert found.split() == ["401", cluster.head]


def test_the_api_answers_on_a_machine_at_the_address_that_it_has_outside(cluster: Cluster) -> None:
    ask = "import os, urllib.request as u; print(u.urlopen(os.environ['AWS_ENDPOINT_URL'] + '/_localcloud/status'))"
    answer = cluster.cloud.ssh(cluster.cloud.public_address(cluster.head), "python3", "-c", f'"{ask}"')
    assert "403" in answer.stderr, "the control API asks for its token"


def test_a_worker_is_refused_from_outside_and_reached_through_the_head(cluster: Cluster) -> None:
    with pytest.raises(TimeoutError):
        socket.create_connection((cluster.worker_address, 22), 3)
    assert cluster.on_worker("hostname").startswith("ip-")


def test_a_security_group_that_changes_is_followed(cluster: Cluster) -> None:
    cloud = cluster.cloud
    cloud.forbid(cloud.worker_group, 22, group=cloud.head_group)
    assert cloud.through(cluster.head, cluster.worker_address, "true", connect_s=4).returncode == 255
    cloud.allow(cloud.worker_group, 22, group=cloud.head_group)
    assert cloud.through(cluster.head, cluster.worker_address, "true").returncode == 0


def test_neighbours_in_a_subnet_reach_each_other_only_by_a_rule(cluster: Cluster) -> None:
    cloud = cluster.cloud
    other = cloud.launch("worker")
    address = cloud.ready(other)
    reach = f"timeout 4 bash -c '</dev/tcp/{address}/22' && echo reached || echo dropped"
    assert cluster.on_worker(reach) == "dropped"
    cloud.allow(cloud.worker_group, 22, group=cloud.worker_group)
    assert cluster.on_worker(reach) == "reached"
    cloud.ec2.terminate_instances(InstanceIds=[other])


def test_packets_for_addresses_that_no_instance_has_go_nowhere(cluster: Cluster) -> None:
    private, public = (cluster.cloud.ranges[name] for name in ("private_cidr", "public_cidr"))
    unused = [private.replace("0.0/16", "77.77"), private.replace("0.0/16", "250.1"), _last_but_two(public)]
    for address in unused:
        route = subprocess.run(["ip", "route", "get", address], capture_output=True, text=True, check=False)
        assert route.returncode != 0, route.stdout
        with pytest.raises(OSError) as caught:
            socket.create_connection((address, 22), 5)
        assert caught.value.errno in (errno.EINVAL, errno.ENETUNREACH, errno.EHOSTUNREACH), "it fails at once"


def test_a_machine_has_the_memory_of_its_type_and_no_more(cluster: Cluster) -> None:
    hungry = cluster.cloud.ssh(
        cluster.cloud.public_address(cluster.head), "python3 -c 'bytearray(2 * 1024**3)'; echo $?"
    )
    assert hungry.stdout.strip() == "137", "a t3.micro has 1 GiB"
    assert cluster.cloud.on(cluster.head, "echo alive") == "alive"


def test_the_volume_has_the_size_of_the_launch(cluster: Cluster) -> None:
    size_gib = int(cluster.cloud.on(cluster.head, "df --output=size -B 1M / | tail -1")) / 1024
    assert 7 < size_gib < 8


def _last_but_two(cidr: str) -> str:
    first, _, last = cidr.partition("/")[0].rpartition(".")
    return f"{first}.{int(last) + 29}"
