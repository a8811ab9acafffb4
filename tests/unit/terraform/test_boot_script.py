"""The script of a node's first boot: what it does to sshd, and where it leaves sshd alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).resolve().parents[3] / "terraform" / "templates" / "boot.sh.tftpl"
LIMITS = "MaxStartups 300:30:600\nMaxSessions 300\n"


class Machine:
    """A machine whose root is a folder; its programs note that they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder / "calls"
        self.limits = folder / "etc/ssh/sshd_config.d/10-centavo.conf"
        self.limits.parent.mkdir(parents=True)
        (folder / "bin").mkdir()
        self.program("id", "echo 0")
        self.program("getent", f"echo 'u:x:1:1::{folder}/home:/bin/sh'")
        for name in ("sshd", "systemctl", "apt-get"):
            self.program(name, "exit 0")
        self.program("dpkg", "exit 0")
        self.program("install", "exit 0")

    def program(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{script}\n')
        path.chmod(0o755)

    def boot(self, login_user: str = "admin", packages: str = "'libgomp1'") -> subprocess.CompletedProcess[str]:
        script = TEMPLATE.read_text().replace("${login_user}", login_user).replace("${fact_path}", "/facts")
        script = script.replace("${agent_region}", "")
        script = re.sub(r"packages=\(\$\{join.*\)", f"packages=({packages})", script)
        script = script.replace("$${", "${").replace("/etc/ssh", f"{self.folder}/etc/ssh")
        return subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, check=False,
            env={"PATH": f"{self.folder}/bin:/usr/bin:/bin"},
        )  # fmt: skip

    def called(self, name: str) -> list[str]:
        return [line for line in self.calls.read_text().splitlines() if line.startswith(f"{name} ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_sshd_takes_many_logins_at_once_and_a_second_boot_changes_nothing(machine: Machine) -> None:
    assert machine.boot().returncode == 0
    assert machine.limits.read_text() == LIMITS
    assert machine.called("sshd") == ["sshd -t"] and machine.called("systemctl") == ["systemctl reload ssh"]
    assert machine.boot().returncode == 0
    assert len(machine.called("systemctl")) == 1


def test_limits_that_sshd_refuses_are_taken_back(machine: Machine) -> None:
    machine.program("sshd", "exit 255")
    ended = machine.boot()
    assert ended.returncode == 0 and "sshd does not accept" in ended.stderr
    assert not machine.limits.exists() and machine.called("systemctl") == []


def test_a_machine_on_which_nodes_are_emulated_keeps_its_sshd(machine: Machine) -> None:
    """Such a node has no login user of its own: its script runs as whoever started the local cloud, root included."""
    assert machine.boot(login_user="").returncode == 0
    assert not machine.limits.exists()


def test_an_image_that_has_all_packages_is_not_given_any(machine: Machine) -> None:
    machine.boot()
    assert machine.called("apt-get") == []
    machine.program("dpkg", "exit 1")
    machine.boot()
    assert len(machine.called("apt-get")) == 2
