"""The inventory and what is taken from ansible-runner's events; one real playbook on this machine."""

from __future__ import annotations

import configparser
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller.domain import HeadSeen, Instance, LauncherState, NodeSeen, WorkerState
from controller.domain.errors import AnsibleError, StoppedError
from controller.edges.ansible import Ansible, Outcome, inventory
from controller.edges.connecting.ssh import SshAccess

HEAD = Instance("i-head", "t3.micro", "head", "running", "10.0.0.2", "3.3.3.3")
WORKER = Instance("i-1", "c5.large", "worker", "running", "10.0.0.7")


def access(jump: bool = False) -> SshAccess:
    return SshAccess("ubuntu", 2222, Path("/k/id"), Path("/k/known_hosts"), HEAD, jump)


def event(kind: str, host: str = "i-1", task: str = "Do it", **result: Any) -> dict[str, Any]:
    return {"event": kind, "event_data": {"host": host, "task": task, "res": result}}


def test_the_inventory_calls_hosts_by_their_instance_ids_and_checks_keys_under_them() -> None:
    made = inventory(access(), [HEAD, WORKER])["all"]["children"]
    assert list(made["head"]["hosts"]) == ["i-head"]
    host = made["workers"]["hosts"]["i-1"]
    assert (host["ansible_host"], host["ansible_port"], host["ansible_user"]) == ("10.0.0.7", 2222, "ubuntu")
    assert (host["instance_id"], host["flavor"], host["private_ip"]) == ("i-1", "c5.large", "10.0.0.7")
    options = shlex.split(host["ansible_ssh_common_args"])
    assert "HostKeyAlias=i-1" in options
    assert "UserKnownHostsFile=/k/known_hosts" in options
    assert not any("ProxyCommand" in option for option in options)


def test_workers_with_private_addresses_are_reached_through_the_head() -> None:
    made = inventory(access(jump=True), [HEAD, WORKER])["all"]["children"]
    assert made["head"]["hosts"]["i-head"]["ansible_host"] == "3.3.3.3"
    options = shlex.split(made["workers"]["hosts"]["i-1"]["ansible_ssh_common_args"])
    jump = shlex.split(next(option for option in options if option.startswith("ProxyCommand=")))
    assert "ubuntu@3.3.3.3" in jump
    assert "HostKeyAlias=i-head" in jump
    assert jump[jump.index("-W") + 1] == "%h:%p"


def test_control_sockets_have_a_path_that_fits_a_unix_socket() -> None:
    options = access().options(WORKER)
    path = next(option for option in options if option.startswith("ControlPath=")).removeprefix("ControlPath=")
    assert len(path) + len(".1234567890abcdef") < 108


def test_the_inventory_decides_how_long_a_connection_stays_open() -> None:
    """Ansible gives ssh its own `ssh_args` before the inventory's, and ssh takes the first value of an option."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).resolve().parents[4] / "ansible" / "ansible.cfg")
    own = shlex.split(config["ssh_connection"]["ssh_args"])
    given = subprocess.run(
        ["ssh", *own, *access().options(WORKER), "-G", "x"], capture_output=True, text=True, check=True
    )
    assert "controlpersist 600" in given.stdout and "controlmaster auto" in given.stdout


def test_failures_and_changes_are_taken_from_the_events() -> None:
    outcome = Outcome()
    for taken in (
        event("runner_on_ok", changed=True),
        event("runner_on_ok", host="i-2", changed=False),
        event("playbook_on_stats"),
        event("runner_on_unreachable", host="i-3", msg="Connection refused"),
        event("runner_on_failed", host="i-4", stderr="disk full", msg="non-zero return code"),
    ):
        outcome.take(taken)
    assert outcome.changed == 1
    assert outcome.failures == {"i-3": "unreachable: Connection refused", "i-4": "Do it: disk full"}


def test_a_failure_that_the_playbook_ignores_is_none() -> None:
    outcome, ignored = Outcome(), event("runner_on_failed", msg="no")
    ignored["event_data"]["ignore_errors"] = True
    outcome.take(ignored)
    assert outcome.failures == {}


@pytest.fixture
def ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ansible:
    playbooks = tmp_path / "ansible" / "playbooks"
    playbooks.mkdir(parents=True)
    (tmp_path / "ansible" / "ansible.cfg").write_text(f"[defaults]\ninterpreter_python = {sys.executable}\n")
    (tmp_path / "facts.d").mkdir()
    (tmp_path / "facts.d" / "iteration.fact").write_text(json.dumps({"schema": 1}))
    facts = (Path(__file__).resolve().parents[4] / "ansible/playbooks/facts.yml").read_text()
    (playbooks / "facts.yml").write_text(facts.replace("  gather_facts", "  connection: local\n  gather_facts"))
    (playbooks / "fail.yml").write_text(PLAY.format(task="{fail: {msg: 'no space on {{ inventory_hostname }}'}}"))
    (playbooks / "slow.yml").write_text(PLAY.format(task="{wait_for: {path: /nowhere, timeout: 60}}"))
    return Ansible(tmp_path, tmp_path / "run" / "ansible", lambda: False)


PLAY = """
- hosts: all
  gather_facts: false
  connection: local
  ignore_unreachable: true
  tasks:
    - {task}
"""


@pytest.mark.slow
def test_a_real_playbook_brings_the_local_facts_of_every_host(ansible: Ansible, tmp_path: Path) -> None:
    variables = {"fact_path": str(tmp_path / "facts.d"), "root": str(tmp_path / "root"), "run": "R", "program": ""}
    outcome = ansible.read_local_facts(access(), [HEAD, WORKER], {"centavo": variables})
    assert outcome.failures == {}
    assert outcome.local_facts == {"i-head": {"iteration": {"schema": 1}}, "i-1": {"iteration": {"schema": 1}}}
    assert outcome.head == HeadSeen(LauncherState.ABSENT)
    assert outcome.nodes == {"i-1": NodeSeen("i-1", WorkerState.ABSENT)}
    assert list((tmp_path / "run/ansible/artifacts/facts/job_events").glob("*")) == []


@pytest.mark.slow
def test_a_real_playbook_that_fails_says_why_on_each_host_and_where_its_output_is(ansible: Ansible) -> None:
    with pytest.raises(AnsibleError, match="no space on i-1") as error:
        ansible.play("fail.yml", access(), [HEAD, WORKER], {}, limit=["i-1"])
    assert list(error.value.hosts) == ["i-1"]
    log = Path(error.value.next_step.split()[-1].rstrip("."))
    assert "no space on i-1" in log.read_text()


@pytest.mark.slow
def test_a_playbook_that_takes_too_long_is_ended(ansible: Ansible) -> None:
    with pytest.raises(AnsibleError, match="'timeout'"):
        ansible.play("slow.yml", access(), [WORKER], {}, timeout_s=3)


@pytest.mark.slow
def test_a_playbook_ends_when_a_person_stops_the_controller(ansible: Ansible, tmp_path: Path) -> None:
    stopping = Ansible(tmp_path, tmp_path / "run" / "ansible", lambda: True)
    with pytest.raises(StoppedError):
        stopping.play("slow.yml", access(), [WORKER], {})
