"""Whatever happens to a cloud of machines, `down` leaves this machine as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.hosts.machine.network.namespace import NAMESPACES, is_folder_mounted
from tests.support.local_cloud import command, wait_until, write_config
from tests.support.machine_cloud import MachineCloud, random_ranges, traces

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(900)]


@pytest.fixture
def before() -> Iterator[dict[str, list[str]]]:
    """What this machine has before the test."""
    yield traces()


def _processes_of(cloud: MachineCloud) -> list[int]:
    daemon = json.loads((cloud.state_dir / "daemon.json").read_text())["pid"]
    children = Path(f"/proc/{daemon}/task").glob("*/children")
    return [daemon, *(int(pid) for path in children for pid in path.read_text().split())]


def test_down_removes_a_cloud_with_its_machines(before: dict[str, list[str]], tmp_path: Path) -> None:
    with MachineCloud(tmp_path) as cloud:
        cloud.ready(cloud.launch("head"))
        assert traces() != before
    assert traces() == before


def test_down_unmounts_the_folder_of_namespaces_where_the_cloud_was_the_first_to_use_it(tmp_path: Path) -> None:
    if is_folder_mounted():
        assert not list(NAMESPACES.iterdir()), "this test needs a machine without network namespaces"
        subprocess.run(["umount", str(NAMESPACES)], check=True)
    before = traces()
    with MachineCloud(tmp_path) as cloud:
        cloud.ready(cloud.launch("head"))
        assert is_folder_mounted()
    assert not is_folder_mounted()
    assert traces() == before


def test_down_removes_what_a_killed_cloud_left(before: dict[str, list[str]], tmp_path: Path) -> None:
    with MachineCloud(tmp_path) as cloud:
        cloud.ready(cloud.launch("head"))
        for pid in _processes_of(cloud):
            os.kill(pid, signal.SIGKILL)
        assert traces()["mounts"] != before["mounts"], "a machine outlives those who started it"
    assert traces() == before


def test_up_removes_what_a_killed_cloud_left_and_starts(before: dict[str, list[str]], tmp_path: Path) -> None:
    with MachineCloud(tmp_path) as cloud:
        cloud.launch("head")
        wait_until(lambda: traces()["namespaces"] != before["namespaces"], "a network namespace")
        for pid in _processes_of(cloud):
            os.kill(pid, signal.SIGKILL)
        again = command("up", "--config", str(cloud.config_file), state_dir=cloud.state_dir)
        assert again.returncode == 0, again.stderr
        assert traces()["namespaces"] == before["namespaces"]
    assert traces() == before


def test_hosts_of_a_killed_daemon_end_by_themselves(before: dict[str, list[str]], tmp_path: Path) -> None:
    with MachineCloud(tmp_path) as cloud:
        cloud.ready(cloud.launch("head"))
        os.kill(_processes_of(cloud)[0], signal.SIGKILL)
        wait_until(lambda: traces() == before, "the end of machines and network")


def test_a_range_that_is_taken_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    with MachineCloud(tmp_path / "first") as first:
        before = traces()
        config = tmp_path / "second.yml"
        write_config(config, hosts="machine", machines=first.ranges)
        second = command("up", "--config", str(config), state_dir=tmp_path / "second")
        assert second.returncode == 1
        assert f"uses addresses of {first.ranges['private_cidr']} already: blackhole" in second.stderr
        assert traces() == before


def test_an_image_that_cannot_be_made_leaves_nothing(before: dict[str, list[str]], tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "mmdebstrap").write_text("#!/bin/sh\necho 'E: unable to reach the mirror' >&2\nexit 25\n")
    (tools / "mmdebstrap").chmod(0o755)
    config = tmp_path / "localcloud.yml"
    write_config(config, hosts="machine", machines={**random_ranges(), "image_dir": str(tmp_path / "images")})
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    refused = command("up", "--config", str(config), state_dir=tmp_path / "state", env=environment)
    assert refused.returncode == 1
    assert "the image cannot be made" in refused.stderr and "unable to reach the mirror" in refused.stderr
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["lock"]
    assert traces() == before
