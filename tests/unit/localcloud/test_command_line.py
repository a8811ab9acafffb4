"""The commands `python -m localcloud up`, `status` and `down`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.credentials import Credentials
from tests.support.local_cloud import (
    REPOSITORY,
    LocalCloud,
    command,
    is_alive,
    processes_with,
    wait_until,
    write_config,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    """A state directory. Whatever runs in it ends with the test."""
    yield tmp_path / "state"
    command("down", state_dir=tmp_path / "state")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "localcloud.yml"
    write_config(path)
    return path


def daemon_of(state_dir: Path) -> int:
    return int(json.loads((state_dir / "daemon.json").read_text())["pid"])


def leftovers(state_dir: Path) -> set[int]:
    return processes_with(f"CENTAVO_LOCALCLOUD_STATE={state_dir}")


def test_up_twice_with_the_same_configuration_is_up_once(state_dir: Path, config: Path) -> None:
    first = command("up", "--config", str(config), state_dir=state_dir)
    assert (first.returncode, first.stderr) == (0, "")
    assert "localcloud is up: http://127.0.0.1:" in first.stdout
    daemon = daemon_of(state_dir)
    second = command("up", "--config", str(config), state_dir=state_dir)
    assert second.returncode == 0
    assert "up already" in second.stdout
    assert daemon_of(state_dir) == daemon


def test_up_with_another_configuration_is_refused_and_says_what_differs(state_dir: Path, config: Path) -> None:
    command("up", "--config", str(config), state_dir=state_dir)
    config.write_text(config.read_text() + "speeds: {c5.large: 0.3}\n")
    result = command("up", "--config", str(config), state_dir=state_dir)
    assert result.returncode == 5
    assert "another configuration: speeds differ" in result.stderr
    assert "localcloud down" in result.stderr


def test_status_says_whether_it_runs(state_dir: Path, config: Path) -> None:
    assert command("status", state_dir=state_dir).returncode == 3
    assert json.loads(command("status", "--json", state_dir=state_dir).stdout) == {"running": False}
    command("up", "--config", str(config), state_dir=state_dir)
    shown = command("status", state_dir=state_dir)
    assert shown.returncode == 0
    assert "no instances" in shown.stdout
    document = json.loads(command("status", "--json", state_dir=state_dir).stdout)
    assert document["running"] is True
    assert document["instances"] == []


def test_env_prints_the_credentials_of_the_cloud_that_runs(state_dir: Path, config: Path) -> None:
    assert command("env", state_dir=state_dir).returncode == 3
    command("up", "--config", str(config), state_dir=state_dir)
    first = command("env", state_dir=state_dir).stdout
    key = Credentials.from_text((state_dir / "credentials").read_text()).user
    assert f"export AWS_ACCESS_KEY_ID={key.access_key_id}\n" in first
    assert f"export AWS_SECRET_ACCESS_KEY={key.secret_access_key}\n" in first
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:" in first
    command("down", state_dir=state_dir)
    assert not (state_dir / "credentials").exists()
    command("up", "--config", str(config), state_dir=state_dir)
    assert command("env", state_dir=state_dir).stdout != first


def test_down_ends_everything_and_may_be_said_twice(tmp_path: Path) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        instance_id = cloud.run()
        address = cloud.ready(instance_id)
        cloud.ssh(address, "(trap '' TERM; setsid sleep 1101 &) > /dev/null 2>&1")
        table = command("status", state_dir=cloud.state_dir).stdout
        assert instance_id in table
        assert "SPEED (cores)" in table
        daemon = daemon_of(cloud.state_dir)
        assert leftovers(cloud.state_dir)
        result = command("down", state_dir=cloud.state_dir)
        assert (result.returncode, result.stdout) == (0, "localcloud is down\n")
        assert not is_alive(daemon)
        assert leftovers(cloud.state_dir) == set()
        again = command("down", state_dir=cloud.state_dir)
        assert (again.returncode, again.stdout) == (0, "localcloud was not running\n")


def test_a_killed_daemon_takes_its_hosts_with_it(tmp_path: Path) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        address = cloud.ready(cloud.run())
        cloud.ssh(address, "(trap '' TERM HUP; setsid sleep 1102 &) > /dev/null 2>&1")
        os.kill(daemon_of(cloud.state_dir), signal.SIGKILL)
        wait_until(lambda: leftovers(cloud.state_dir) == set(), "the end of the hosts")
        assert command("status", state_dir=cloud.state_dir).returncode == 3


def test_an_interrupt_of_the_client_does_not_end_the_cloud(state_dir: Path, config: Path) -> None:
    arguments = [sys.executable, "-m", "localcloud", "up", "--config", str(config), "--state-dir", str(state_dir)]
    client = subprocess.Popen(arguments, cwd=REPOSITORY, start_new_session=True, stdout=subprocess.DEVNULL)
    daemon = wait_until(lambda: daemon_of(state_dir) if (state_dir / "daemon.json").exists() else None, "the daemon")
    os.killpg(client.pid, signal.SIGINT)  # as Ctrl-C in the client's terminal
    client.wait(timeout=120)
    assert command("up", "--config", str(config), state_dir=state_dir).returncode == 0
    assert daemon_of(state_dir) == daemon


def test_in_the_foreground_an_interrupt_ends_it_in_order(state_dir: Path, config: Path) -> None:
    arguments = [sys.executable, "-m", "localcloud", "up", "--foreground", "--config", str(config)]
    process = subprocess.Popen(
        [*arguments, "--state-dir", str(state_dir)],
        cwd=REPOSITORY,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: command("status", state_dir=state_dir).returncode == 0, "its answer")
    os.killpg(process.pid, signal.SIGINT)
    _, log = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "ended" in log


@pytest.mark.parametrize("entry", ["port", "ssh_port", "metadata_port"])
def test_a_taken_port_is_named_with_its_holder_and_what_to_do(
    entry: str, state_dir: Path, config: Path, tmp_path: Path
) -> None:
    settings = write_config(config)
    address = "127.0.0.1" if entry == "port" else settings["vpc_cidr"].replace(".0/16", ".1")
    with socket.create_server((address, settings[entry])):
        result = command("up", "--config", str(config), state_dir=state_dir)
    assert result.returncode == 4
    assert f"port {settings[entry]} on {address} is taken by process {os.getpid()}" in result.stderr
    assert f"set another `{entry}`" in result.stderr


def test_a_bad_configuration_starts_nothing(state_dir: Path, config: Path) -> None:
    config.write_text("speeds: {c5.large: -0.1}\nsped: 3\n")
    result = command("up", "--config", str(config), state_dir=state_dir)
    assert result.returncode == 2
    assert "speeds.c5.large" in result.stderr
    assert "sped: unknown entry" in result.stderr
    assert not state_dir.exists()


def test_a_start_that_fails_shows_the_end_of_the_log(state_dir: Path, config: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.yml").write_text("c5.large: cheap\n")
    config.write_text(config.read_text() + "prices: prices.yml\n")
    result = command("up", "--config", str(config), state_dir=state_dir)
    assert result.returncode == 1
    assert "the price of c5.large must be positive dollars per hour, not 'cheap'" in result.stderr


def test_a_cloud_starts_with_nothing_of_an_earlier_one(state_dir: Path, config: Path) -> None:
    old = state_dir / "instances" / "i-old" / "home"
    old.mkdir(parents=True)
    command("up", "--config", str(config), state_dir=state_dir)
    assert not old.exists()
