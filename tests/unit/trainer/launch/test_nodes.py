"""Hosts that are dropped stay out for a while, and workers' words are data."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trainer.launch import nodes as nodes_module
from trainer.launch.node import Phase
from trainer.launch.nodes import Nodes

LIMIT_S = 30.0
WORKER = """
import sys
for line in open({path!r}):
    print(line, end="", file=sys.stderr, flush=True)
for line in sys.stdin:
    print(line.strip(), flush=True)
"""
READY = json.dumps({"event": "ready", "training_digest": "d"})


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def lines() -> list[str]:
    """What the worker says."""
    return [READY]


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def nodes(lines: list[str], output: io.StringIO, tmp_path: Path) -> Iterator[Nodes]:
    said = tmp_path / "lines"
    said.write_text("".join(f"{line}\n" for line in lines))
    nodes = Nodes(lambda address: [sys.executable, "-c", WORKER.format(path=str(said))], output)
    nodes.keep(["a", "b"])
    yield nodes
    nodes.close()


def test_a_dropped_host_is_left_out_longer_each_time_and_told(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    until(lambda: nodes.usable(["a", "b"]) == ["a", "b"])
    nodes.drop("b", "it hangs")
    assert "b is dropped for 60 s: it hangs" in caplog.text
    monkeypatch.setattr(nodes_module, "RETRY_S", 0.0)

    def is_connected_again() -> bool:
        nodes.keep(["a", "b"])
        node = nodes.get("b")
        return node is not None and node.phase is Phase.READY

    until(is_connected_again)
    assert nodes.usable(["a", "b"]) == ["a"], "it cools down"
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 61)
    assert nodes.usable(["a", "b"]) == ["a", "b"]
    nodes.drop("b", "it hangs again")
    assert "b is dropped for 120 s: it hangs again" in caplog.text
    (dropped,) = nodes.dropped()
    assert (dropped.address, dropped.reason, dropped.count) == ("b", "it hangs again", 2)


def test_a_dropped_host_that_is_not_wanted_any_more_is_not_told(nodes: Nodes) -> None:
    nodes.drop("b", "it hangs")
    nodes.keep(["a"])
    assert nodes.dropped() == []
    assert not nodes.is_wanted("b")


def test_active_ranks_are_pinged_and_told_of_changed_hosts(nodes: Nodes, output: io.StringIO) -> None:
    until(lambda: nodes.usable(["a", "b"]) == ["a", "b"])
    node = nodes.get("a")
    assert node is not None and node.activate({"HOROVOD_RANK": "0"})
    nodes.ping()
    node.notify_hosts_updated(0, None)
    until(lambda: len(output.getvalue().splitlines()) == 3)
    said = [json.loads(line.partition(" ")[2]) for line in output.getvalue().splitlines()]
    assert said == [{"env": {"HOROVOD_RANK": "0"}}, {"ping": True}, {"hosts": "changed"}]


WILD: list[dict[str, Any]] = [
    {"event": "progress", "step": "many", "step_time_s": "long"},
    {"event": "progress", "step": [1], "step_time_s": 1e300},
    {"event": "joined", "size": "3"},
    {"event": "failed", "reason": {"not": "words"}},
]


@pytest.mark.parametrize(
    "lines", [["[" * 100_000, "x" * 3_000_000, "null", *map(json.dumps, WILD), READY]], ids=["wild"]
)
def test_whatever_a_worker_says_its_node_goes_on_listening(nodes: Nodes) -> None:
    until(lambda: nodes.usable(["a", "b"]) == ["a", "b"])
    node = nodes.get("a")
    assert node is not None
    assert (node.step, node.step_time_s, node.joined_size) == (0, 0.0, None)
    assert node.reason == "{'not': 'words'}"


@pytest.mark.parametrize(
    "lines", [[READY, json.dumps({"event": "progress", "step": 7, "step_time_s": 12.5})]], ids=[""]
)
def test_the_progress_of_ranks_is_known(nodes: Nodes) -> None:
    node = nodes.get("a")
    assert node is not None
    until(lambda: node.step_time_s == 12.5)
    assert nodes.step == 7
    assert node.activate({})
    assert nodes.longest_step_s() == 12.5
    assert nodes.progressed_at >= node.progressed_at


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError("no space left on device")


def test_a_log_that_cannot_be_written_holds_no_rank_up() -> None:
    nodes = Nodes(lambda address: [sys.executable, "-c", "print('line\\n' * 100000)"], FullDisk())
    nodes.keep(["a"])
    node = nodes.get("a")
    assert node is not None
    assert node.wait(LIMIT_S) == 0
