"""A head without a public address, over the real Ansible and ssh, and an `aws` that connects to a host of the test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain.errors import CentavoError
from controller.edges.ansible import Ansible
from controller.edges.connecting import ssh
from controller.edges.connecting.session_manager import PROGRAMS, require_session_programs
from tests.support.ssh_hosts import SshHosts

ROOT = Path(__file__).resolve().parents[5]
CENTAVO = {"fact_path": "~/facts.d", "root": "~/c", "run": "R", "program": ""}
AWS = """#!{python}
import json, os, socket, sys, threading
with open({record!r}, "a") as record:
    record.write(json.dumps(sys.argv[1:]) + "\\n")
target = sys.argv[sys.argv.index("--target") + 1]
port = int(sys.argv[sys.argv.index("--parameters") + 1].removeprefix("portNumber="))
connection = socket.create_connection((json.loads({addresses!r})[target], port))
def send():
    while data := os.read(0, 65536):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while data := connection.recv(65536):
    os.write(1, data)
"""


class Sessions:
    """A head and workers of which only an `aws` of the test knows the way to the head."""

    def __init__(self, hosts: SshHosts, programs: Path) -> None:
        self.hosts, self.record, self._programs = hosts, programs / "record", programs
        self.head, self.worker = hosts.answering("i-head"), hosts.answering("i-1")
        self.access = replace(hosts.access, jump_through_head=True, region="eu-west-3")
        self.answer({"i-head": str(self.head.private_ip)})

    def answer(self, addresses: dict[str, str]) -> None:
        """Makes the `aws` that connects to these instances and refuses others."""
        text = AWS.format(python=sys.executable, record=str(self.record), addresses=json.dumps(addresses))
        (self._programs / "aws").write_text(text)
        (self._programs / "aws").chmod(0o755)

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of each call of `aws`."""
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []


@pytest.fixture
def sessions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    programs = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    with SshHosts(tmp_path_factory.mktemp("ssh")) as hosts:
        made = Sessions(hosts, programs)
        yield made
        ssh.end_connections(made.access, ["i-head", "i-1"])


WANTED = [
    "ssm",
    "start-session",
    "--region",
    "eu-west-3",
    "--target",
    "i-head",
    "--document-name",
    "AWS-StartSSHSession",
    "--parameters",
]


@pytest.mark.slow
def test_ansible_reaches_head_and_workers_through_one_session(sessions: Sessions, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ansible", tmp_path / "ansible")
    ansible = Ansible(tmp_path, tmp_path / "run", lambda: False)
    outcome = ansible.read_local_facts(sessions.access, [sessions.head, sessions.worker], {"centavo": CENTAVO})
    assert outcome.failures == {}
    assert outcome.head is not None and set(outcome.nodes) == {"i-1"}
    assert sessions.asked and all(asked[:-1] == WANTED for asked in sessions.asked)
    assert sessions.asked[0][-1] == f"portNumber={sessions.access.port}"

    before = len(sessions.asked)
    assert ansible.read_local_facts(sessions.access, [sessions.head], {"centavo": CENTAVO}).failures == {}
    assert len(sessions.asked) == before, "the next look takes the connection that is open"


@pytest.mark.slow
def test_a_worker_is_out_of_reach_where_the_session_is_refused(sessions: Sessions) -> None:
    """The worker's own address would answer: the way is through the head, or there is none."""
    sessions.answer({})
    options = sessions.access.options(sessions.worker)
    access, address = sessions.access, f"user@{sessions.worker.private_ip}"
    done = subprocess.run(
        ["ssh", "-i", access.identity_file, "-p", str(access.port), *options, address, "true"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 255 and sessions.asked


@pytest.mark.slow
def test_a_person_reaches_head_and_workers_the_same_way(sessions: Sessions, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(ssh.config_for_people(sessions.access))
    for name in ("head", str(sessions.worker.private_ip)):
        done = subprocess.run(
            ["ssh", "-F", config, "-o", "BatchMode=yes", name, "pwd"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        wanted = sessions.hosts.homes["i-head" if name == "head" else "i-1"]
        assert done.stdout.strip() == str(wanted)
    assert sessions.asked and all(asked[:-1] == WANTED for asked in sessions.asked)


def test_a_head_with_a_public_address_needs_no_session(tmp_path: Path) -> None:
    head = ssh.Instance("i-head", "t3.small", "head", "running", "10.0.0.2", "198.51.100.3")
    worker = ssh.Instance("i-1", "c5.large", "worker", "running", "10.0.0.7")
    access = ssh.SshAccess("admin", 22, tmp_path / "id", tmp_path / "known_hosts", head, True, "us-east-1")
    assert access.address(head) == "198.51.100.3"
    assert not any("aws" in option for option in [*access.options(head), *access.options(worker)])


def test_a_machine_without_the_programs_of_a_session_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CentavoError, match=r"aws \(version 2 of the AWS CLI\), session-manager-plugin") as error:
        require_session_programs()
    assert "head.ssh_from" in error.value.next_step
    (tmp_path / "aws").write_text("")
    (tmp_path / "aws").chmod(0o755)
    with pytest.raises(CentavoError, match="PATH: session-manager-plugin"):
        require_session_programs()
    for program in PROGRAMS:
        (tmp_path / program).write_text("")
        (tmp_path / program).chmod(0o755)
    require_session_programs()
