"""The driver forms worlds of the hosts that vote, and tells late ones whether they leave or begin anew."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainer.launch.ballot import Vote
from trainer.launch.driver import Driver
from trainer.launch.node import Phase
from trainer.launch.options import LaunchOptions
from trainer.launch.rendezvous_server import RendezvousServer

LIMIT_S = 30.0
GONE = "-1,-1,-1,-1,-1,-1"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@dataclass
class FakeNode:
    phase: Phase = Phase.ACTIVE


class Fleet:
    """Hosts whose ranks end when a test says so. It is discovery and nodes at once."""

    def __init__(self) -> None:
        self.hosts = ["a", "b", "c"]
        self.hidden: set[str] = set()
        self.nodes = {host: FakeNode() for host in self.hosts}
        self.dropped: list[str] = []
        self.codes: dict[str, int] = {}
        self.started: list[str] = []
        self.driver: Driver | None = None

    def find_available_hosts_and_slots(self) -> dict[str, int]:
        return dict.fromkeys((host for host in self.hosts if host not in self.hidden), 1)

    def get(self, host: str) -> FakeNode | None:
        return self.nodes.get(host)

    def is_wanted(self, host: str) -> bool:
        return host in self.hosts

    def drop(self, host: str, reason: str) -> None:
        self.dropped.append(host)
        self.codes[host] = 255

    def run_rank(self, slot: Any, is_over: threading.Event) -> int:
        self.started.append(slot.hostname)
        while slot.hostname not in self.codes and not is_over.is_set():
            time.sleep(0.01)
        return self.codes.get(slot.hostname, 143)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet()
    options = LaunchOptions(tmp_path / "hosts", tmp_path, "attach", "lo", elastic_timeout_s=5)
    server = RendezvousServer("127.0.0.1")
    fleet.driver = Driver(server, fleet, fleet, options, lambda: 0.5, fleet.run_rank)  # type: ignore[arg-type]
    fleet.driver.begin()
    until(lambda: sorted(fleet.started) == ["a", "b", "c"])
    yield fleet
    fleet.driver.end(LIMIT_S)


def vote(fleet: Fleet, *hosts: str) -> dict[str, str | None]:
    """Lets hosts ask for their place in the next world at once. Returns what they are told."""
    assert fleet.driver is not None
    places: dict[str, str | None] = {}
    driver = fleet.driver
    threads = [
        threading.Thread(target=lambda host=host: places.__setitem__(host, driver.place(host, 0)), daemon=True)
        for host in hosts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    return places


def await_hosts(fleet: Fleet, *hosts: str) -> None:
    """Waits until the driver has seen that these, and no others, are there."""
    driver = fleet.driver
    assert driver is not None
    until(lambda: driver._host_manager.current_hosts.available_hosts == set(hosts))


def sizes(places: dict[str, str | None]) -> dict[str, str | None]:
    return {host: place and place.split(",")[1] for host, place in places.items()}


def test_all_that_vote_are_the_next_world(fleet: Fleet) -> None:
    assert sizes(vote(fleet, "a", "b", "c")) == {"a": "3", "b": "3", "c": "3"}


def test_a_rank_that_hangs_is_dropped_and_begins_anew_if_it_wakes_up(fleet: Fleet) -> None:
    assert sizes(vote(fleet, "a", "c")) == {"a": "2", "c": "2"}
    assert fleet.dropped == ["b"]
    assert vote(fleet, "b") == {"b": None}


def test_a_drained_rank_leaves(fleet: Fleet) -> None:
    fleet.hosts.remove("b")
    await_hosts(fleet, "a", "c")
    assert vote(fleet, "a", "b", "c")["b"] == GONE


def test_a_rank_whose_node_is_about_to_go_leaves_though_its_host_is_wanted(fleet: Fleet) -> None:
    fleet.nodes["b"].phase = Phase.LEAVING
    fleet.hidden.add("b")
    await_hosts(fleet, "a", "c")
    assert vote(fleet, "a", "b", "c")["b"] == GONE


def test_a_rank_that_was_killed_is_left_out(fleet: Fleet) -> None:
    fleet.codes["b"] = 137
    assert sizes(vote(fleet, "a", "c")) == {"a": "2", "c": "2"}
    assert fleet.dropped == []


def test_a_finished_rank_ends_it_all_also_where_another_one_hangs(fleet: Fleet) -> None:
    fleet.codes["a"] = fleet.codes["c"] = 0
    assert fleet.driver is not None
    until(lambda: fleet.driver.is_over)  # type: ignore[union-attr]


def test_it_is_over_when_every_rank_has_failed(fleet: Fleet) -> None:
    fleet.codes.update(a=1, b=1, c=1)
    assert fleet.driver is not None
    until(lambda: fleet.driver.is_over)  # type: ignore[union-attr]


def test_a_world_that_cannot_be_formed_says_why(fleet: Fleet) -> None:
    fleet.hosts = ["x", "y"]  # nobody of these holds the state
    await_hosts(fleet, "x", "y")
    driver = fleet.driver
    assert driver is not None
    driver.close({"a": Vote.READY, "b": Vote.READY, "c": Vote.READY}, set())
    assert driver.problem is not None and "No hosts from previous set remaining" in driver.problem
    assert driver.is_over
