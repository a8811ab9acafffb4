"""A node's services run while they are wanted, whatever becomes of them: under a real supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from node_programs import place_programs, supervisor_ctl

LIMIT_S = 60.0
SERVICE = """[program:{name}]
command={command}
autostart=false
autorestart=unexpected
exitcodes=0
startsecs={startsecs}
startretries=1
"""


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


class Node:
    """A prepared node in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        place_programs(root, root / "run", root / "bin" / "start")
        self.environment = {**os.environ, "CENTAVO_TEST_NODE": str(root)}

    def service(self, name: str, command: str, wanted: bool = True, startsecs: int = 0) -> None:
        text = SERVICE.format(name=name, command=command, startsecs=startsecs)
        (self.root / "services" / f"{name}.conf").write_text(text)
        if wanted:
            (self.root / "wanted" / name).touch()

    def run(self, program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "bin" / program], env=self.environment, text=True, capture_output=True, timeout=90, check=True
        )

    def start(self) -> str:
        """Starts supervisor and all that is wanted, as Ansible does. Returns what was changed."""
        self.run("start")
        return self.run("services").stdout

    def state(self, service: str) -> str:
        command = [*supervisor_ctl(self.root).split(), "status", service]
        answer = subprocess.run(command, text=True, capture_output=True, check=False).stdout.split()
        return answer[1] if len(answer) > 1 else ""

    def supervisor(self) -> int:
        return int((self.root / "run" / "supervisord.pid").read_text())

    def processes(self) -> set[int]:
        mark = f"CENTAVO_TEST_NODE={self.root}".encode()
        found = set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
            except OSError:
                continue
        return found

    def power_off(self) -> None:
        """Kills everything at once, as a power failure does."""
        while alive := self.processes():
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)


@pytest.fixture
def node(socket_folder: Path) -> Iterator[Node]:
    node = Node(socket_folder / "n")
    yield node
    node.power_off()


def test_a_wanted_service_is_started_and_a_second_start_changes_nothing(node: Node) -> None:
    node.service("worker", "sleep 1000")
    node.start()
    assert node.state("worker") == "RUNNING"
    assert node.start() == ""


def test_the_worker_is_started_before_the_others(node: Node) -> None:
    """Process numbers rise in the order of starting, whichever process runs first on a busy machine."""
    names = ["shipper", "warden", "worker"]
    for name in names:
        node.service(name, f"sh -c 'echo $$ > {node.root}/{name}.pid; exec sleep 1000'", startsecs=1)
    node.start()
    assert min(names, key=lambda name: int((node.root / f"{name}.pid").read_text())) == "worker"


def test_a_service_that_has_left_is_started_anew_when_it_is_wanted_again(node: Node) -> None:
    node.service("worker", "true")
    node.run("start")
    until(lambda: node.state("worker") == "EXITED", "the end of the worker")
    node.service("worker", "sleep 1000")
    node.start()
    assert node.state("worker") == "RUNNING"


def test_a_service_that_failed_for_good_is_started_anew(node: Node) -> None:
    node.service("worker", f"sh {node.root}/program", startsecs=1)
    node.run("start")
    until(lambda: node.state("worker") == "FATAL", "supervisor gives up")
    (node.root / "program").write_text("exec sleep 1000\n")
    node.start()
    assert node.state("worker") == "RUNNING"


def test_after_a_power_failure_what_is_wanted_runs_again_and_what_has_left_does_not(node: Node) -> None:
    node.service("worker", "sleep 1000")
    node.service("launcher", "sleep 1000", wanted=False)
    node.start()
    node.power_off()
    assert (node.root / "run" / "supervisor.sock").exists(), "the stale socket is still there"
    node.run("start")
    until(lambda: node.state("worker") == "RUNNING", "the worker after the boot")
    assert node.state("launcher") == "STOPPED"
    (node.root / "wanted" / "worker").unlink()
    node.power_off()
    node.start()
    assert node.state("worker") == "STOPPED"


def test_a_killed_supervisor_comes_back_with_its_services(node: Node) -> None:
    node.service("worker", "sleep 1000")
    node.start()
    first = node.supervisor()
    os.kill(first, signal.SIGKILL)
    until(lambda: node.supervisor() != first and node.state("worker") == "RUNNING", "another supervisor")


def test_a_supervisor_whose_keeper_was_killed_stays_the_only_one(node: Node) -> None:
    node.service("worker", "sleep 1000")
    node.start()
    first = node.supervisor()
    keeper = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    node.start()
    assert node.supervisor() == first
    assert node.state("worker") == "RUNNING"
