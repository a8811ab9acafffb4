"""Hosts that fall silent, over the real Ansible and the real SSH: what is known of the others comes all the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.domain.errors import AnsibleError
from controller.edges import ansible as edge
from controller.edges.ansible import Ansible
from controller.edges.connecting import ssh
from controller.edges.running import found
from tests.support.local_cloud import is_alive, wait_until
from tests.support.ssh_hosts import SshHosts, ssh_processes

ROOT = Path(__file__).resolve().parents[4]
CENTAVO = {"fact_path": "~/facts.d", "root": "~/c", "run": "R", "program": ""}
LIMIT_S = 3

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    with SshHosts(tmp_path_factory.mktemp("ssh")) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ansible:
    monkeypatch.setattr(edge, "LOOK_LIMIT_S", LIMIT_S)
    shutil.copytree(ROOT / "ansible", tmp_path / "ansible")
    hang = "- hosts: all\n  gather_facts: false\n  tasks:\n    - raw: sleep 600\n"
    (tmp_path / "ansible" / "playbooks" / "hang.yml").write_text(hang)
    return Ansible(tmp_path, tmp_path / "run", lambda: False)


def write_fact(hosts: SshHosts, instance_id: str) -> None:
    folder = hosts.homes[instance_id] / "facts.d"
    folder.mkdir()
    (folder / "iteration.fact").write_text(json.dumps({"schema": 1}))


def assert_left_alone(hosts: SshHosts, *instance_ids: str) -> None:
    """No process speaks to these hosts any more. One that was killed takes a moment to be gone."""

    def are_gone() -> bool:
        return not any(is_alive(pid) for each in instance_ids for pid in ssh_processes(hosts.access, each))

    wait_until(are_gone, f"the end of every ssh to {instance_ids}")


def test_a_look_brings_what_the_others_say_whatever_way_a_host_is_silent(hosts: SshHosts, ansible: Ansible) -> None:
    silent = [hosts.hanging("i-hangs"), hosts.mute("i-mute"), hosts.flooding("i-floods")]
    asked = [hosts.answering("i-head"), *silent, hosts.answering("i-1")]
    write_fact(hosts, "i-1")
    for _ in range(2):
        began = time.monotonic()
        outcome = ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO})
        took_s = time.monotonic() - began
        assert set(outcome.failures) == {instance.instance_id for instance in silent}
        assert outcome.local_facts["i-1"] == {"iteration": {"schema": 1}}
        assert outcome.head is not None and set(outcome.nodes) == {"i-1"}
        assert took_s < 2 * LIMIT_S + len(asked) * edge.LOOK_NODE_S + 30
    assert_left_alone(hosts, "i-hangs", "i-mute")


def test_a_connection_that_is_shared_does_not_hold_up_a_look_when_its_host_has_frozen(
    hosts: SshHosts, ansible: Ansible
) -> None:
    asked = [hosts.answering("i-head"), hosts.answering("i-1")]
    assert ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO}).failures == {}
    assert any(ssh_processes(hosts.access, "i-1")), "the connection is shared"
    hosts.freeze()
    try:
        outcome = ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO})
        assert set(outcome.failures) == {"i-head", "i-1"}
        assert not hosts.access.control_path("i-1").exists()
    finally:
        hosts.thaw()
    assert ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO}).failures == {}


def test_a_playbook_that_waits_for_one_host_ends_in_time_names_it_and_leaves_no_process(
    hosts: SshHosts, ansible: Ansible, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [hosts.answering("i-head"), hosts.hanging("i-hangs")]
    mark = f"{os.getpid()}-{uuid.UUID(int=7).hex}"
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))
    with pytest.raises(AnsibleError, match="'timeout'") as error:
        ansible.play("hang.yml", hosts.access, asked, {}, limit=["i-hangs"], timeout_s=4)
    assert error.value.hosts == {"i-hangs": "raw: no end within 4 s"}
    assert_left_alone(hosts, "i-hangs")
    marker = f"{edge.MARKER}={mark}".encode()
    wait_until(
        lambda: not any(map(is_alive, found("environ", lambda entries: marker in entries))), "the end of Ansible"
    )


def test_the_nodes_that_answer_are_prepared_while_another_is_silent(
    hosts: SshHosts, ansible: Ansible, tmp_path: Path
) -> None:
    asked = [hosts.answering("i-head"), hosts.hanging("i-hangs")]
    playbook = tmp_path / "ansible" / "playbooks" / "site.yml"
    text = playbook.read_text()
    sign_of_life = text[: text.index("- name: Prepare the nodes")]
    tasks = tmp_path / "ansible" / "roles" / "boot" / "tasks" / "main.yml"
    tasks.write_text(tasks.read_text().replace("timeout: 30", f"timeout: {LIMIT_S}"))
    after = "- hosts: head:workers\n  gather_facts: false\n  tasks:\n    - raw: touch prepared\n"
    playbook.write_text(sign_of_life + after)
    with pytest.raises(AnsibleError) as error:
        ansible.play("site.yml", hosts.access, asked, {"centavo": {"boot_s": 30}}, timeout_s=300)
    assert set(error.value.hosts) == {"i-hangs"}
    assert (hosts.homes["i-head"] / "prepared").exists()


def test_a_host_with_another_key_than_before_is_not_asked(hosts: SshHosts, ansible: Ansible) -> None:
    asked = [hosts.answering("i-head"), hosts.answering("i-1")]
    assert ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO}).failures == {}
    ssh.end_connections(hosts.access, ["i-1"])
    known = hosts.access.known_hosts_file
    other = hosts.access.identity_file.with_suffix(".pub").read_text().split()[1]
    known.write_text(re.sub(r"(?m)^(\S+ \S+) \S+", rf"\1 {other}", known.read_text()))
    outcome = ansible.read_local_facts(hosts.access, asked, {"centavo": CENTAVO})
    assert set(outcome.failures) == {"i-1"} and outcome.head is not None


def test_fifty_nodes_are_worked_on_at_once(hosts: SshHosts, ansible: Ansible, tmp_path: Path) -> None:
    asked = [hosts.answering(f"i-{number}") for number in range(50)]
    (tmp_path / "met").mkdir()
    wait = f"touch {tmp_path}/met/$$; until [ $(ls {tmp_path}/met | wc -l) -ge 50 ]; do sleep 1; done"
    (tmp_path / "ansible" / "playbooks" / "meet.yml").write_text(
        f"- hosts: all\n  gather_facts: false\n  tasks:\n    - raw: {wait}\n"
    )
    ansible.play("meet.yml", hosts.access, asked, {}, timeout_s=400)
