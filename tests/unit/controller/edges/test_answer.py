"""What a node answers to facts.yml: the real script, under the real supervisor, and answers that are hostile."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain import HeadSeen, LauncherState, NodeSeen, WorkerState
from controller.edges.answer import (
    DEEPEST_JSON,
    MOST_FACT_BYTES,
    MOST_REPORTS_BYTES,
    Answer,
    Interval,
    addresses_of,
    head_seen,
    node_seen,
    parse_fact_file,
    read_answer,
)
from tests.support.facts_script import ANSIBLE, ask, rendered
from tests.support.local_cloud import wait_until
from tests.support.node_programs import place_programs

RUN = "20261122T184029Z"
NOW = 1_800_000_000.0
ASKED = Interval(NOW - 0.5, NOW + 0.5)

TRAINER = """
import json, os, pathlib, signal, socket, sys, time
root, wish = pathlib.Path("{root}"), lambda name: (root / name).exists()
def leave(*_):
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
while not wish("go"):
    time.sleep(0.02)
if wish("fail"):
    os._exit(7)
if "warm" in sys.argv:
    place = pathlib.Path(sys.argv[sys.argv.index("--socket") + 1])
    place.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place))
while not wish("leave"):
    time.sleep(0.02)
"""


class Node:
    """A prepared node on this machine: our templates, the real supervisor, and a stub in the trainer's place."""

    def __init__(self, directory: Path, service: str) -> None:
        self.root, self.facts = directory / "root", directory / "facts.d"
        self.service, self.sockets = service, directory / "s"
        self.program = self.root / "trainer-abc"
        self.wanted = {"root": str(self.root), "fact_path": str(self.facts), "run": RUN, "program": "abc"}
        self.supervisor_ctl = f"{sys.executable} -m supervisor.supervisorctl -c {self.root}/supervisord.conf"
        for folder in (self.facts, self.sockets, self.root / "services", self.root / "log", self.program / "trainer"):
            folder.mkdir(parents=True)
        (self.program / "trainer" / "__main__.py").write_text(TRAINER.format(root=self.root))
        self.place("node", "supervisord.conf", self.root)
        self.place("head" if service == "launcher" else "worker", f"{service}.conf", self.root / "services")
        (self.root / "training.yml").write_text(f"model:\n    layers: 2\nstorage: s3://bucket/{RUN}\n")
        self.supervisor: subprocess.Popen[bytes] | None = None

    def place(self, role: str, name: str, folder: Path) -> None:
        text = rendered(
            (ANSIBLE / "roles" / role / "templates" / f"{name}.j2").read_text(),
            node_root=self.root,
            node_sockets=self.sockets,
            worker_socket=self.sockets / "worker.sock",
            trainer_path=self.program,
            trainer_command=f"{sys.executable} -m trainer",
            supervisor_ctl=self.supervisor_ctl,
            node_interface="lo",
            centavo={**self.wanted, "ssh_port": 22, "min_np": 1, "max_np": 2},
        )
        (folder / name).write_text(
            text.replace("startretries=5", "startretries=1").replace("startretries=3", "startretries=1")
        )

    def start(self) -> None:
        """Starts supervisor, and under it the service."""
        self.supervisor = subprocess.Popen(
            [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(self.root / "supervisord.conf")],
            stdout=subprocess.DEVNULL,
        )
        wait_until(lambda: "supervisord started" in self.log(), "supervisor")
        wait_until(lambda: (self.sockets / "supervisor.sock").exists(), "supervisor's socket")
        if "spawned" not in self.log().rpartition("supervisord started")[2]:
            self.control("start")

    def control(self, action: str) -> str:
        """Lets supervisor do something with the service. Returns what it says."""
        command = [*self.supervisor_ctl.split(), action, self.service]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout

    def start_training(self) -> None:
        """Starts the training of this run on a head, as start.yml does."""
        place_programs(self.root, self.sockets, self.root / "bin" / "start")
        [task] = yaml.safe_load((ANSIBLE / "roles" / "head" / "tasks" / "start.yml").read_text())
        script = rendered(
            task["ansible.builtin.shell"],
            node_root=self.root,
            node_fact_path=self.facts,
            supervisor_ctl=self.supervisor_ctl,
            node_start="true",
            centavo=self.wanted,
        )
        subprocess.run(["sh", "-c", script], check=True, capture_output=True, timeout=120)

    def end_training(self, status: str) -> None:
        """Leaves the end of a training, as its launcher does."""
        (self.root / "results").mkdir(exist_ok=True)
        (self.root / "results" / "done.json").write_text(json.dumps({"status": status, "reason": None}))

    def log(self) -> str:
        log = self.root / "log" / "supervisord.log"
        return log.read_text() if log.exists() else ""

    def wish(self, name: str) -> None:
        (self.root / name).touch()

    def answer(self, **wanted: str) -> Answer:
        return read_answer(ask({**self.wanted, **wanted}))

    def worker(self, **wanted: str) -> WorkerState:
        return node_seen("i-1", self.answer(**wanted), ASKED).worker

    def launcher(self) -> LauncherState:
        return head_seen(self.answer(), RUN, ASKED).launcher

    def process(self) -> int:
        return int(self.log().rpartition(f"spawned: '{self.service}' with pid ")[2].split()[0])


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Node]]:
    made: list[Node] = []

    def make(service: str) -> Node:
        made.append(Node(tmp_path_factory.mktemp("n"), service))
        return made[-1]

    yield make
    for each in made:
        if each.supervisor is not None and each.supervisor.poll() is None:
            each.supervisor.terminate()
            each.supervisor.wait(60)


def until(state: Callable[[], Any], wanted: Any) -> None:
    wait_until(lambda: state() == wanted, f"{wanted}")


@pytest.mark.slow
def test_a_worker_is_absent_then_starts_is_warm_leaves_and_is_warm_again(node: Callable[[str], Node]) -> None:
    one = node("worker")
    assert one.worker() is WorkerState.ABSENT
    one.start()
    until(one.worker, WorkerState.STARTING)
    one.wish("go")
    until(one.worker, WorkerState.WARM)
    assert one.worker(run="another") is one.worker(program="other") is one.worker(program="") is WorkerState.ABSENT
    one.wish("leave")
    until(one.worker, WorkerState.LEFT)
    (one.root / "leave").unlink()
    (one.root / "go").unlink()
    one.control("start")
    assert one.worker() is WorkerState.STARTING, "the socket that the earlier process left says nothing"
    one.wish("go")
    until(one.worker, WorkerState.WARM)


@pytest.mark.slow
def test_a_worker_that_supervisor_has_given_up_or_that_nobody_supervises_is_dead(node: Callable[[str], Node]) -> None:
    one = node("worker")
    one.wish("go")
    one.wish("fail")
    one.start()
    until(one.worker, WorkerState.DEAD)
    assert "gave up" in one.log()
    other = node("worker")
    other.start()
    until(other.worker, WorkerState.STARTING)
    assert other.supervisor is not None
    other.supervisor.kill()
    other.supervisor.wait()
    os.kill(other.process(), signal.SIGKILL)
    until(other.worker, WorkerState.DEAD)


@pytest.mark.slow
def test_a_worker_that_has_a_rank_is_warm_by_its_own_fact_and_not_by_that_of_an_earlier_process(
    node: Callable[[str], Node],
) -> None:
    one = node("worker")
    write_fact(one, "training", None, at=time.time() - 100)
    one.start()
    until(one.worker, WorkerState.STARTING)
    for state, reason, seen in (
        ("starting", "loading the corpus and building the model", WorkerState.STARTING),
        ("starting", "warm: ready to join", WorkerState.WARM),
        ("training", None, WorkerState.WARM),
    ):
        write_fact(one, state, reason, at=time.time() + 0.1)
        assert one.worker() is seen


def write_fact(node: Node, state: str, reason: str | None, at: float) -> None:
    written = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}Z"
    fact = {"state": state, "reason": reason, "updated_at": written}
    (node.facts / "iteration.fact").write_text(json.dumps(fact))


@pytest.mark.slow
def test_the_end_of_an_earlier_run_is_not_taken_for_the_end_of_this_one(node: Callable[[str], Node]) -> None:
    head = node("launcher")
    (head.facts / "training.fact").symlink_to(head.root / "results" / "done.json")
    (head.root / "run").write_text("20261121T101010Z")
    head.end_training("finished")
    answer = head.answer()
    assert "training" not in answer.facts and head_seen(answer, RUN, ASKED).launcher is LauncherState.ABSENT
    assert head.answer(run="20261121T101010Z").facts["training"] == {"status": "finished", "reason": None}
    head.wish("go")
    head.start()
    head.start_training()
    assert "training" not in head.answer().facts and head.launcher() is LauncherState.RUNNING
    head.end_training("finished")
    output = ask(head.wanted)
    assert read_answer(output).facts["training"] == {"status": "finished", "reason": None}
    assert output.index("run ours") < output.index("fact training"), "what was cleared away meanwhile is not told"


@pytest.mark.slow
def test_a_launcher_of_an_earlier_run_is_stopped_and_one_of_this_run_goes_on(node: Callable[[str], Node]) -> None:
    head = node("launcher")
    (head.root / "run").write_text("20261121T101010Z")
    head.wish("go")
    head.start()
    wait_until(lambda: "RUNNING" in head.control("status"), "the earlier launcher")
    earlier = head.process()
    head.start_training()
    own = head.process()
    assert own != earlier and not Path(f"/proc/{earlier}").exists()
    assert head.launcher() is LauncherState.RUNNING
    head.start_training()
    assert head.process() == own


@pytest.mark.slow
def test_the_head_shows_its_launcher_and_the_hosts_file_of_this_run_alone(node: Callable[[str], Node]) -> None:
    head = node("launcher")
    head.start()
    head.wish("go")
    assert head.launcher() is LauncherState.ABSENT, "it was not started for this run"
    (head.root / "run").write_text(RUN)
    until(head.launcher, LauncherState.RUNNING)
    os.kill(head.process(), signal.SIGKILL)
    assert head.launcher() is LauncherState.RUNNING, "supervisor starts it again"
    (head.root / "hosts").write_text(f"# {RUN}\n10.0.0.7:1\n10.0.0.8:1\n")
    now = time.time()
    seen = head_seen(head.answer(), RUN, Interval(now - 5, now + 5))
    assert seen.hosts == {"10.0.0.7", "10.0.0.8"} and seen.clock_ahead_s == 0.0
    assert seen.hosts_written_at == pytest.approx(now, abs=30)
    assert head_seen(head.answer(), "another", ASKED).hosts is None
    head.wish("leave")
    until(head.launcher, LauncherState.DEAD)
    (head.facts / "training.fact").write_text(json.dumps({"status": "finished", "reason": None}))
    assert head.launcher() is LauncherState.ENDED


def test_the_script_runs_in_any_shell_on_a_node_that_is_not_prepared(tmp_path: Path) -> None:
    wanted = {"root": str(tmp_path / "none"), "fact_path": str(tmp_path / "none"), "run": RUN, "program": ""}
    for shell in ("bash", "dash"):
        answer = read_answer(ask(wanted, shell))
        assert answer == Answer(clock=answer.clock) and abs((answer.clock or 0.0) - time.time()) < 60
        assert node_seen("i-1", answer, ASKED).worker is WorkerState.ABSENT
        assert head_seen(answer, RUN, ASKED).launcher is LauncherState.ABSENT


def test_a_fact_of_any_size_is_cut_on_the_node(tmp_path: Path) -> None:
    (tmp_path / "iteration.fact").write_text(json.dumps({"x": "y" * 10_000_000}))
    output = ask({"root": str(tmp_path), "fact_path": str(tmp_path), "run": RUN, "program": ""})
    assert len(output) < 2 * MOST_FACT_BYTES
    assert read_answer(output).facts == {"iteration": f"it has {MOST_FACT_BYTES} bytes or more"}


def packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_torn_fact_does_not_take_the_others_with_it() -> None:
    facts = read_answer(
        f"fact iteration {packed(b'{')}\r\nfact empty \nfact training {packed(b'[1]')}\nfact torn x\nrun ours\n"
    ).facts
    assert facts["training"] == [1]
    assert "no JSON" in facts["iteration"] and "no JSON" in facts["empty"]


@pytest.mark.parametrize("depth", [DEEPEST_JSON + 1, 900, 100_000])
def test_a_fact_that_is_nested_deeply_is_refused(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        said = parse_fact_file((opening * depth + b"1" + closing * depth)[: MOST_FACT_BYTES - 1])
        assert isinstance(said, str)


def test_numbers_of_any_length_are_read_or_refused() -> None:
    for number in (b"1" + b"0" * 400, b"9" * 60_000, b"1e999", b"NaN", b"-Infinity"):
        parse_fact_file(b'{"step": ' + number + b"}")


@pytest.mark.parametrize(
    "line",
    ["clock", "clock x", "clock nan", "clock -1", "clock 1e300", "hosts 1", "hosts x !", "alive", "alive 1 2", "socket",
     "last !", "service", "fact", "\x1b[2J", "supervisor", "process ours", "run"],
)  # fmt: skip
def test_an_answer_that_is_nonsense_says_nothing(line: str) -> None:
    answer = read_answer(f"{line}\nservice worker\n{line}\n")
    assert node_seen("i-1", answer, ASKED) == NodeSeen("i-1", WorkerState.ABSENT)
    assert head_seen(answer, RUN, ASKED) == HeadSeen(LauncherState.ABSENT)


@pytest.mark.parametrize(
    ("clock", "ahead_s"),
    [(NOW, 0.0), (NOW + 0.5, 0.0), (NOW - 0.5, 0.0), (NOW + 20, 20.0), (NOW - 300, -300.0), (None, 0.0)],
)
def test_a_clock_is_off_where_it_shows_a_time_outside_of_that_in_which_it_was_read(
    clock: float | None, ahead_s: float
) -> None:
    assert ASKED.ahead_s(clock) == ahead_s


def test_the_time_of_the_hosts_file_is_put_on_the_controllers_clock() -> None:
    content = packed(f"# {RUN}\n10.0.0.7:1\n".encode())
    seen = head_seen(read_answer(f"clock {NOW + 300}\nhosts {NOW + 200} {content}\n"), RUN, ASKED)
    assert (seen.hosts_written_at, seen.clock_ahead_s) == (NOW - 100, 300.0)


def test_a_hosts_file_without_nodes_has_none_and_one_without_the_run_is_none() -> None:
    assert addresses_of(f"# {RUN}\n", RUN) == frozenset()
    assert addresses_of("10.0.0.7:1\n", RUN) is None is addresses_of("", RUN)


def test_the_head_hands_on_what_the_nodes_reported_within_bounds(tmp_path: Path) -> None:
    wanted = {"root": str(tmp_path / "root"), "fact_path": str(tmp_path), "run": RUN, "program": "abc"}
    assert read_answer(ask(wanted)).reports == b""
    file = tmp_path / "nodes.json.gz"
    file.write_bytes(os.urandom(1000))
    assert read_answer(ask(wanted)).reports == file.read_bytes()
    file.write_bytes(os.urandom(MOST_REPORTS_BYTES))
    assert read_answer(ask(wanted)).reports == b""
    assert read_answer("nodes §").reports == b""


@pytest.mark.parametrize(
    ("silent_s", "launcher", "worker"),
    [(1.0, LauncherState.RUNNING, WorkerState.STARTING), (60.0, LauncherState.DEAD, WorkerState.DEAD)],
)
def test_a_line_that_says_spawned_is_not_trusted_for_long(
    silent_s: float, launcher: LauncherState, worker: WorkerState
) -> None:
    """On a full disk, supervisor can't write that the process has ended."""

    def of(service: str) -> Answer:
        said = base64.b64encode(f"INFO spawned: '{service}' with pid 7".encode()).decode()
        lines = (f"clock {NOW}", f"logged {NOW - silent_s}", "run ours", "supervisor alive", f"service {service}")
        return read_answer("\n".join([*lines, "program ours", f"last {said}"]))

    assert head_seen(of("launcher"), RUN, ASKED).launcher is launcher
    assert node_seen("i-1", of("worker"), ASKED).worker is worker
