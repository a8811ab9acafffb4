"""Horovod is told of whole worlds of ready hosts, one after another, whatever happens to the hosts file."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import pytest

from trainer.launch import discovery
from trainer.launch.discovery import Discovery
from trainer.launch.node import Phase


@dataclass
class FakeNode:
    """A node in a phase."""

    address: str
    phase: Phase = Phase.CONNECTING
    joined_size: int | None = None


class FakeNodes:
    """Nodes that a test moves by hand."""

    def __init__(self) -> None:
        self.nodes: dict[str, FakeNode] = {}

    def keep(self, wanted: list[str]) -> None:
        for address in wanted:
            self.nodes.setdefault(address, FakeNode(address))

    def get(self, address: str) -> FakeNode | None:
        return self.nodes.get(address)

    def usable(self, wanted: list[str]) -> list[str]:
        return [one for one in wanted if self.nodes[one].phase in (Phase.READY, Phase.ACTIVE)]

    def of_one_training(self, wanted: list[str]) -> list[str]:
        return self.usable(wanted)  # none of these is a stranger

    def in_phase(self, *phases: Phase) -> list[FakeNode]:
        return [node for node in self.nodes.values() if node.phase in phases]

    def make(self, phase: Phase, *addresses: str, size: int | None = None) -> None:
        for address in addresses:
            self.nodes[address].phase, self.nodes[address].joined_size = phase, size


class Head:
    """A discovery with its hosts file and nodes."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "hosts"
        self.nodes = FakeNodes()
        self.discovery = Discovery(self.file, self.nodes, 64)  # type: ignore[arg-type]

    def write(self, *addresses: str) -> None:
        self.file.write_text("\n".join(addresses) + "\n")

    def offered(self) -> list[str]:
        return sorted(self.discovery.find_available_hosts_and_slots())

    def train(self, *addresses: str) -> None:
        """Lets these hosts be a settled world, and be offered."""
        self.write(*addresses)
        self.discovery.refresh()
        self.nodes.make(Phase.READY, *addresses)
        assert self.offered() == sorted(addresses)
        self.nodes.make(Phase.ACTIVE, *addresses, size=len(addresses))


@pytest.fixture
def head(tmp_path: Path) -> Head:
    return Head(tmp_path)


def test_only_ready_hosts_are_offered(head: Head) -> None:
    head.train("a", "b")
    head.write("a", "b", "c")
    assert head.offered() == ["a", "b"]
    head.nodes.make(Phase.READY, "c")
    assert head.offered() == ["a", "b", "c"]


def test_hosts_that_come_together_join_together(head: Head) -> None:
    head.train("a")
    head.write("a", "b", "c")
    head.offered()
    head.nodes.make(Phase.READY, "b")
    assert head.offered() == ["a"]
    head.nodes.make(Phase.READY, "c")
    assert head.offered() == ["a", "b", "c"]


def test_a_host_that_does_not_come_holds_the_others_up_for_a_while_only(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    head.train("a")
    head.write("a", "b", "c")
    head.offered()
    head.nodes.make(Phase.READY, "b")
    monkeypatch.setattr(discovery, "COMPANY_TIMEOUT_S", 0.0)
    assert head.offered() == ["a", "b"]


def test_a_refused_host_holds_nobody_up(head: Head) -> None:
    head.train("a")
    head.write("a", "b", "c")
    head.offered()
    head.nodes.make(Phase.READY, "b")
    head.nodes.make(Phase.REFUSED, "c")
    assert head.offered() == ["a", "b"]


def test_a_change_waits_until_the_world_of_the_one_before_trains(head: Head) -> None:
    head.train("a", "b")
    head.write("a", "b", "c")
    head.discovery.refresh()
    head.nodes.make(Phase.READY, "c")
    assert head.offered() == ["a", "b", "c"]
    head.write("b", "c")
    assert head.offered() == ["a", "b", "c"]  # c has not joined yet
    head.nodes.make(Phase.ACTIVE, "a", "b", "c", size=3)
    assert head.offered() == ["b", "c"]


def test_a_host_that_leaves_by_itself_is_offered_no_more(head: Head) -> None:
    head.train("a", "b")
    head.nodes.make(Phase.LEAVING, "a", size=2)
    assert head.offered() == ["b"]


def test_a_world_without_a_survivor_is_reached_by_way_of_both(head: Head) -> None:
    head.train("a", "b")
    head.write("c", "d")
    head.discovery.refresh()
    head.nodes.make(Phase.READY, "c", "d")
    assert head.offered() == ["a", "b", "c", "d"]
    head.nodes.make(Phase.ACTIVE, "a", "b", "c", "d", size=4)
    assert head.offered() == ["c", "d"]


def test_a_hosts_file_that_cannot_be_read_changes_nothing(head: Head, caplog: pytest.LogCaptureFixture) -> None:
    head.train("a", "b")
    head.file.unlink()
    assert head.offered() == ["a", "b"]
    head.write("a b c")
    assert head.offered() == ["a", "b"]
    assert "line 1: expected an address" in caplog.text


def test_an_emptied_hosts_file_does_not_end_the_training(head: Head) -> None:
    head.train("a", "b")
    head.write("# nobody")
    assert head.offered() == ["a", "b"]


def test_log_lines_of_the_discovery_name_who_comes_and_goes(head: Head, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        head.train("a", "b")
        head.write("b")
        head.offered()
    assert "2 in all +a +b" in caplog.text
    assert "1 in all -a" in caplog.text
