"""Machines fail as EC2's do: they reboot, stop, lose their power, fill up, freeze and are cut off."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.machine.conftest import Cluster
from tests.support.local_cloud import wait_until
from tests.support.machine_cloud import BOOT_LIMIT_S

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(900)]


def _boot_id(cluster: Cluster) -> str:
    """Returns when the first process of the head started, in clock ticks."""
    return cluster.cloud.on(cluster.head, "cut -d' ' -f22 /proc/1/stat")


def _fault(cluster: Cluster, kind: str, **entries: object) -> int:
    return int(cluster.cloud.control("fault", {"kind": kind, "target": cluster.head, **entries})["number"])


def _answers(cluster: Cluster, limit_s: int = 4) -> bool:
    done = cluster.cloud.ssh(
        cluster.cloud.public_address(cluster.head), "true", options=["-o", f"ConnectTimeout={limit_s}"]
    )
    return done.returncode == 0


def test_a_full_disk_is_full_for_root_and_has_room_again_after_that(cluster: Cluster) -> None:
    number = _fault(cluster, "fill-disk")
    write = "sudo dd if=/dev/zero of=/var/tmp/big bs=1M count=8 2>&1; sudo rm -f /var/tmp/big"
    wait_until(lambda: "No space left on device" in cluster.cloud.on(cluster.head, write), "a full disk")
    cluster.cloud.control("clear", {"number": number})
    wait_until(lambda: "No space left" not in cluster.cloud.on(cluster.head, write), "room on the disk")


def test_ssh_that_hangs_accepts_and_says_nothing(cluster: Cluster) -> None:
    number = _fault(cluster, "hang-ssh")
    address = cluster.cloud.public_address(cluster.head)

    def is_silent() -> bool:
        with socket.create_connection((address, 22), 5) as one:
            one.settimeout(2)
            try:
                return one.recv(1) == b"impossible"
            except TimeoutError:
                return True

    wait_until(is_silent, "a server that says nothing")
    cluster.cloud.control("clear", {"number": number})
    wait_until(lambda: _answers(cluster), "an answer of the server")


def test_a_frozen_machine_stands_still_and_goes_on(cluster: Cluster) -> None:
    number = _fault(cluster, "freeze")
    wait_until(lambda: not _answers(cluster), "a frozen machine")
    cluster.cloud.control("clear", {"number": number})
    wait_until(lambda: _answers(cluster), "a machine that goes on")


def test_a_partition_cuts_a_machine_off_and_ends(cluster: Cluster) -> None:
    number = _fault(cluster, "partition")
    wait_until(lambda: not _answers(cluster), "a machine that is cut off")
    cluster.cloud.control("clear", {"number": number})
    wait_until(lambda: _answers(cluster), "a machine that is back")


def test_a_reboot_from_within_keeps_the_disk_and_runs_the_user_data_only_once(cluster: Cluster) -> None:
    before = _boot_id(cluster)
    cluster.cloud.on(cluster.head, "sudo rm -f /var/tmp/hello; echo kept >kept; sync")
    cluster.cloud.ssh(cluster.cloud.public_address(cluster.head), "sudo systemctl reboot")
    wait_until(lambda: _answers(cluster) and _boot_id(cluster) != before, "another boot", BOOT_LIMIT_S)
    found = cluster.cloud.on(cluster.head, "cloud-init status --wait | tail -1; cat kept; ls /var/tmp")
    assert found.startswith("status: done\nkept") and "hello" not in found


def test_a_reboot_by_the_api_keeps_the_disk(cluster: Cluster) -> None:
    before = _boot_id(cluster)
    cluster.cloud.on(cluster.head, "echo kept >kept; sync")
    cluster.cloud.ec2.reboot_instances(InstanceIds=[cluster.head])
    wait_until(lambda: _answers(cluster) and _boot_id(cluster) != before, "another boot", BOOT_LIMIT_S)
    assert cluster.cloud.on(cluster.head, "cat kept") == "kept"


def test_a_stopped_machine_starts_again_with_its_disk(cluster: Cluster) -> None:
    cloud = cluster.cloud
    cluster.on_worker("echo kept >kept; sync")
    cloud.ec2.stop_instances(InstanceIds=[cluster.worker])
    wait_until(lambda: cloud.state(cluster.worker) == "stopped", "a stopped machine")
    assert cloud.through(cluster.head, cluster.worker_address, "true", connect_s=4).returncode == 255
    cloud.ec2.start_instances(InstanceIds=[cluster.worker])
    wait_until(
        lambda: cloud.through(cluster.head, cluster.worker_address, "true", connect_s=4).returncode == 0,
        "a machine that runs again", BOOT_LIMIT_S,
    )  # fmt: skip
    assert cluster.on_worker("cat kept") == "kept"


def test_a_spot_interruption_is_announced_in_the_metadata(cluster: Cluster) -> None:
    cloud = cluster.cloud
    other = cloud.launch("worker")
    cloud.ready(other)
    cloud.control("interrupt", {"instance_id": other, "in_s": 1})
    wait_until(lambda: cloud.state(other) == "terminated", "the end of the instance")


def test_a_machine_that_loses_its_power_is_lost(cluster: Cluster) -> None:
    cloud = cluster.cloud
    other = cloud.launch("worker")
    cloud.ready(other)
    spawned = [
        int(entry.name)
        for entry in Path("/proc").glob("[0-9]*")
        if _command(entry).startswith(b"systemd-nspawn") and other.encode() in _command(entry)
    ]
    first = int(Path(f"/proc/{spawned[0]}/task/{spawned[0]}/children").read_text().split()[0])
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: cloud.state(other) == "terminated", "the end of the instance")


def test_a_terminated_machine_ends_within_seconds(cluster: Cluster) -> None:
    began = time.monotonic()
    cluster.cloud.ec2.terminate_instances(InstanceIds=[cluster.worker])
    wait_until(lambda: cluster.cloud.state(cluster.worker) == "terminated", "the end of the worker")
    assert time.monotonic() - began < 60
    volume = cluster.cloud.state_dir / "instances" / cluster.worker / "volume.ext4"
    wait_until(lambda: not volume.exists(), "the end of its volume")


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""
