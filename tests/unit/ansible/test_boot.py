"""What a node runs before Ansible begins: it waits for the scripts of the first boot, and tells how they failed."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import jinja2
import pytest
import yaml

ROLE = Path(__file__).resolve().parents[3] / "ansible" / "roles" / "boot"


class Node:
    """A node whose cloud-init is a script of the test."""

    def __init__(self, folder: Path) -> None:
        self.state, self.log, self.programs = folder / "state", folder / "output.log", folder / "bin"
        self.programs.mkdir()

    def has_cloud_init(self, script: str, *, has_begun: bool = True) -> None:
        program = self.programs / "cloud-init"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        if has_begun:
            self.state.mkdir()

    def wait(self, boot_s: int = 60) -> subprocess.CompletedProcess[str]:
        """Runs what the role runs."""
        tasks = yaml.safe_load((ROLE / "tasks" / "main.yml").read_text())
        script = next(task["ansible.builtin.raw"] for task in tasks if "scripts" in task["name"])
        script = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(script).render(
            centavo={"boot_s": boot_s}, boot_cloud_init_state=self.state, boot_cloud_init_log=self.log
        )  # fmt: skip
        path = f"{self.programs}:{os.environ['PATH']}"
        return subprocess.run(
            ["/bin/sh", "-c", script], capture_output=True, text=True, check=False, env={"PATH": path}
        )


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_node_without_cloud_init_is_ready(node: Node) -> None:
    assert node.wait().returncode == 0


def test_a_machine_on_which_cloud_init_never_runs_is_not_waited_for(node: Node) -> None:
    node.has_cloud_init("sleep 1000", has_begun=False)
    assert node.wait().returncode == 0


@pytest.mark.parametrize("code", [0, 2])
def test_a_boot_that_ended_well_or_made_up_for_its_errors_is_ready(node: Node, code: int) -> None:
    node.has_cloud_init(f'[ "$*" = "status --wait --long" ] && exit {code}; exit 99')
    assert node.wait().returncode == 0


def test_a_boot_script_that_failed_is_told_with_the_end_of_its_log(node: Node) -> None:
    node.has_cloud_init("echo ....; echo 'status: error'; echo 'detail: part-001 failed'; exit 1")
    node.log.write_text("".join(f"line {number}\n" for number in range(100)) + "E: No package libgomp9\n")
    ended = node.wait()
    assert ended.returncode == 1
    assert "cloud-init ended with an error: status: error detail: part-001 failed; the last" in ended.stderr
    assert ended.stderr.endswith("line 99\nE: No package libgomp9\n") and "line 10\n" not in ended.stderr
    assert len(ended.stderr) <= 600, "the controller shows no more, and would cut off the beginning"


def test_a_log_of_endless_lines_leaves_room_for_the_reason(node: Node) -> None:
    node.has_cloud_init("echo 'detail: ' $(seq 1000); exit 1")
    node.log.write_text(("x" * 10_000 + "\n") * 10)
    ended = node.wait()
    assert "cloud-init ended with an error" in ended.stderr and len(ended.stderr) <= 600


def test_a_boot_that_does_not_end_is_given_up(node: Node) -> None:
    node.has_cloud_init("sleep 1000")
    ended = node.wait(boot_s=1)
    assert ended.returncode == 1 and "has not ended within 1 s" in ended.stderr


def test_a_log_that_can_not_be_read_is_told(node: Node) -> None:
    node.has_cloud_init("exit 1")
    ended = node.wait()
    assert ended.returncode == 1 and "can't be read" in ended.stderr


def test_every_way_to_make_a_node_usable_begins_with_this_role() -> None:
    for playbook in ("site.yml", "wheelhouse.yml"):
        first = yaml.safe_load((ROLE.parents[1] / "playbooks" / playbook).read_text())[0]
        assert first["roles"] == ["boot"]


def waiting_for_lock(folder: Path, boot_s: int) -> subprocess.CompletedProcess[str]:
    tasks = yaml.safe_load((ROLE / "tasks" / "main.yml").read_text())
    script = next(task["ansible.builtin.raw"] for task in tasks if "prepare itself" in task["name"])
    script = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(script).render(centavo={"boot_s": boot_s})
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, env=environment)


def test_a_node_that_prepares_itself_is_waited_for(tmp_path: Path) -> None:
    assert waiting_for_lock(tmp_path, 0).returncode == 0, "most nodes have no lock"
    lock, outside = (tmp_path / ".config" / "centavo" / name for name in ("boot.lock", "outside"))
    assert outside.exists(), "from now on the node leaves it to Ansible"
    outside.unlink()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ended = waiting_for_lock(tmp_path, 0)
        assert ended.returncode == 1 and "still prepares itself after 0 s" in ended.stderr
        assert not outside.exists()
    assert waiting_for_lock(tmp_path, 0).returncode == 0
