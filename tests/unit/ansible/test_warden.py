"""The role `node` places the warden, supervisor keeps it running, and a second run changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 120.0
NOBODY = "http://127.0.0.1:1"
"""Nothing answers there."""
PLAY = [
    {
        "hosts": "all",
        "connection": "local",
        "gather_facts": False,
        "roles": ["node"],
        "tasks": [
            {"ansible.builtin.include_role": {"name": "node", "tasks_from": "supervise"}, "vars": {"node_service": ""}}
        ],
    }
]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.1)


class Node:
    """A node in a folder, reached without SSH."""

    def __init__(self, folder: Path, socket_folder: Path, role: str) -> None:
        self.folder, self.root, self.role = folder, folder / "centavo", role
        self.socket_folder = socket_folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            "ANSIBLE_CONFIG": str(ROOT / "ansible" / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "AWS_ENDPOINT_URL": NOBODY,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nobody",
        }
        (folder / "training.yml").write_text("model: {}\n")
        for name in ("trainer", "controller"):
            (folder / name).symlink_to(ROOT / name)
        self.plays = folder / "ansible" / "playbooks"
        self.plays.mkdir(parents=True)
        (self.plays / "group_vars").symlink_to(ROOT / "ansible" / "playbooks" / "group_vars")
        (self.plays / "play.yml").write_text(yaml.safe_dump(PLAY))
        self.tell(head_address="127.0.0.9")

    def tell(self, head_address: str) -> None:
        """Writes the inventory and the variables of the controller."""
        head = {"instance_id": "i-head", "private_ip": head_address}
        worker = {"instance_id": "i-1", "private_ip": "127.0.0.8"}
        groups = {"head": {"hosts": {"i-head": head}}, "workers": {"hosts": {"i-1": worker}}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
        centavo = {
            "root": str(self.root), "python": sys.executable, "fact_path": str(self.folder / "facts.d"),
            "network_interface": "lo", "ssh_port": 2222, "cluster": "unit", "bucket": "unit-bucket",
            "region": "us-east-1", "run": "run-1", "training_config": str(self.folder / "training.yml"),
            "package": str(self.folder / "run" / "trainer.zip"), "corpus": {"settings": {}, "files": []},
        }  # fmt: skip
        env = {"HOME": str(self.folder), "USER": "unit", "TMPDIR": str(self.socket_folder)}
        extra = {
            "centavo": centavo,
            "ansible_env": env,
            "ansible_python_interpreter": sys.executable,
        }
        (self.folder / "extra.json").write_text(json.dumps(extra))

    def prepare(self) -> str:
        """Plays the roles. Returns what Ansible says of the host at the end."""
        name = "i-head" if self.role == "head" else "i-1"
        program = Path(sys.executable).with_name("ansible-playbook")
        done = subprocess.run(
            [program, self.plays / "play.yml", "-i", "hosts.yml", "-l", name, "-e", "@extra.json"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def log(self) -> str:
        file = self.root / "log" / "warden.log"
        return file.read_text() if file.exists() else ""

    @property
    def processes(self) -> dict[int, str]:
        """The processes of this node, by their arguments."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.root) in command:
                    found[int(entry.name)] = command
        return found

    @property
    def warden(self) -> int | None:
        return next((pid for pid, command in self.processes.items() if " -m warden " in command), None)

    def end(self) -> None:
        for name in ("supervise", "supervisor", ""):
            for pid, command in self.processes.items():
                if name in command:
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=["head", "worker"])
def node(request: pytest.FixtureRequest, tmp_path: Path, socket_folder: Path) -> Iterator[Node]:
    one = Node(tmp_path, socket_folder, request.param)
    try:
        yield one
    finally:
        one.end()


def test_every_node_gets_a_warden_that_comes_back_and_a_second_run_changes_nothing(node: Node) -> None:
    node.prepare()
    until(lambda: f"watching over unit as its {node.role}" in node.log, "the warden's first line")
    until(lambda: "s3://unit-bucket/control/lease.json cannot be read" in node.log, "the warden's first look")
    settings = json.loads((node.root / "warden.json").read_text())
    assert (settings["head_address"], settings["bucket"]) == ("127.0.0.9", "unit-bucket")
    assert "changed=0 " in node.prepare()

    first = node.warden
    assert first is not None
    os.kill(first, signal.SIGKILL)
    until(lambda: node.warden not in (None, first), "the warden after it was killed")

    second = node.warden
    shutil.rmtree(node.folder / "run")  # another run packs it again
    node.tell(head_address="127.0.0.10")
    assert "changed=0 " not in node.prepare()
    until(lambda: node.warden not in (None, second), "the warden with the new settings")
    assert "changed=0 " in node.prepare()
