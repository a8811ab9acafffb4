"""Whom a look asks: the head, and only those nodes that have not reported to it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from controller.domain import HeadSeen, Instance, LauncherState, NodeSeen, WorkerState
from controller.edges.ansible import Outcome
from controller.observe.asking import Asking

NOW = 1_800_000_000.0
HEAD = Instance("i-head", "t3.micro", "head", "running", "10.0.0.9")
WORKERS = tuple(Instance(f"i-{k}", "c5.large", "worker", "running", f"10.0.0.{k}") for k in range(3))


class Nodes:
    """Nodes that answer when they are asked, and a head that has the reports of some.

    Attributes:
        asked: Whom each question went to.
        silent: Those that don't answer.
        ahead_s: How far the clocks of those are ahead that report.
        reporting: Those whose reports the head has.
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.silent: set[str] = set()
        self.reporting: Iterable[str] = ()
        self.launcher, self.clock = LauncherState.RUNNING, NOW
        self.ahead_s = 0.0

    def ask(self, instances: Sequence[Instance]) -> Outcome:
        self.asked.append([instance.instance_id for instance in instances])
        outcome = Outcome()
        for instance in instances:
            if instance.instance_id in self.silent:
                outcome.failures[instance.instance_id] = "unreachable"
                outcome.silent.add(instance.instance_id)
            elif instance is HEAD:
                outcome.head, outcome.head_clock = HeadSeen(self.launcher), self.clock
                outcome.reports = self._reports()
            else:
                outcome.local_facts[instance.instance_id] = {"iteration": "told itself"}
                outcome.nodes[instance.instance_id] = NodeSeen(instance.instance_id, WorkerState.STARTING)
        return outcome

    def _reports(self) -> bytes:
        told = {
            worker.private_ip: {
                "fact": json.dumps(fact_of(worker.instance_id)),
                "clock": NOW + self.ahead_s,
                "received_at": NOW,
            }
            for worker in WORKERS
            if worker.instance_id in self.reporting
        }
        return gzip.compress(json.dumps({"schema": 1, "nodes": told}).encode())


def fact_of(instance_id: str) -> dict[str, Any]:
    return {"instance_id": instance_id, "state": "training"}


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


ALL = ["i-0", "i-1", "i-2"]


def test_all_are_asked_until_they_have_reported_and_then_the_head_alone(nodes: Nodes) -> None:
    asking = Asking()
    first = asking.ask(HEAD, WORKERS, nodes.ask)
    nodes.reporting, nodes.ahead_s = ALL, 30.0
    asking.ask(HEAD, WORKERS, nodes.ask)
    last = asking.ask(HEAD, WORKERS, nodes.ask)
    assert nodes.asked == [["i-head", *ALL], ["i-head", *ALL], ["i-head"]]
    assert first.local_facts["i-1"] == {"iteration": "told itself"}
    assert last.local_facts["i-1"] == {"iteration": fact_of("i-1")}
    assert last.nodes == {name: NodeSeen(name, WorkerState.WARM, 30.0) for name in ALL}
    assert last.failures == {}


def look_thrice(nodes: Nodes) -> Outcome:
    """Looks until the head alone is asked, lets the test's fault count, and looks once more."""
    asking, launcher, silent, clock = Asking(), nodes.launcher, nodes.silent, nodes.clock
    gone = [name for name in ALL if name not in nodes.reporting]
    nodes.reporting, nodes.launcher, nodes.silent, nodes.clock = ALL, LauncherState.RUNNING, set(), NOW
    for _ in range(2):
        asking.ask(HEAD, WORKERS, nodes.ask)
    nodes.reporting = [name for name in ALL if name not in gone]
    nodes.launcher, nodes.silent, nodes.clock = launcher, silent, clock
    nodes.asked.clear()
    return asking.ask(HEAD, WORKERS, nodes.ask)


def test_a_node_that_reports_no_more_is_asked_itself_and_known_as_silent(nodes: Nodes) -> None:
    nodes.reporting, nodes.silent = ["i-0", "i-2"], {"i-1"}
    outcome = look_thrice(nodes)
    assert nodes.asked == [["i-head"], ["i-1"]]
    assert outcome.failures == {"i-1": "unreachable"} and outcome.silent == {"i-1"}
    assert set(outcome.nodes) == {"i-0", "i-2"} and outcome.head is not None


def test_a_node_that_reports_no_more_and_answers_is_what_it_says(nodes: Nodes) -> None:
    nodes.reporting = ["i-0", "i-2"]
    outcome = look_thrice(nodes)
    assert outcome.nodes["i-1"].worker is WorkerState.STARTING
    assert outcome.local_facts["i-1"] == {"iteration": "told itself"}


@pytest.mark.parametrize("fault", ["silent head", "dead launcher", "old reports"])
def test_where_the_head_is_of_no_use_every_node_is_asked_itself(nodes: Nodes, fault: str) -> None:
    nodes.reporting = ALL
    nodes.silent = {"i-head"} if fault == "silent head" else set()
    nodes.launcher = LauncherState.DEAD if fault == "dead launcher" else LauncherState.RUNNING
    nodes.clock = NOW + 60 if fault == "old reports" else NOW
    outcome = look_thrice(nodes)
    assert nodes.asked == [["i-head"], ALL]
    assert set(outcome.nodes) == set(ALL)
    assert set(outcome.failures) == nodes.silent
    assert (outcome.head is None) is (fault == "silent head")
