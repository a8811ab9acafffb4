"""How long the parts of growing take, as they are done on a cluster."""

from __future__ import annotations

import pytest

from controller.act.stopwatch import Stopwatch
from controller.domain.move import MovePart


class Watched:
    """A stopwatch with a clock that a test moves."""

    def __init__(self) -> None:
        self.now, self.kept = 100.0, list[tuple[MovePart, float]]()
        self.watch = Stopwatch(lambda: self.now, lambda part, seconds: self.kept.append((part, seconds)))

    def apply(self, seconds: float, added: int = 2) -> None:
        with self.watch.applying(added):
            self.now += seconds

    def configure(self, seconds: float, nodes: int = 2) -> None:
        with self.watch.configuring(nodes):
            self.now += seconds


def test_terraform_boot_and_configuring_are_told_apart() -> None:
    watched = Watched()
    watched.apply(15.0)
    watched.now += 40.0
    watched.configure(200.0)
    assert watched.kept == [(MovePart.TERRAFORM, 15.0), (MovePart.BOOT, 40.0), (MovePart.CONFIGURE, 200.0)]


def test_nodes_that_were_there_before_the_last_apply_tell_nothing() -> None:
    """A node that is repaired is configured alone, and not because of an apply."""
    watched = Watched()
    watched.configure(30.0)
    watched.apply(15.0)
    watched.configure(200.0)
    watched.configure(30.0)
    assert [part for part, _ in watched.kept] == [MovePart.TERRAFORM, MovePart.BOOT, MovePart.CONFIGURE]


def test_what_fails_is_not_measured() -> None:
    watched = Watched()
    with pytest.raises(RuntimeError), watched.watch.applying(2):
        raise RuntimeError
    watched.configure(30.0)
    watched.apply(15.0)
    with pytest.raises(RuntimeError), watched.watch.configuring(2):
        raise RuntimeError
    watched.configure(30.0)
    assert watched.kept == [(MovePart.TERRAFORM, 15.0)]


def test_nodes_that_were_held_up_by_others_tell_nothing_of_how_long_they_boot() -> None:
    """A probe goes on without a flavor that it has waited for in vain."""
    watched = Watched()
    watched.apply(15.0, added=3)
    watched.now += 600.0
    watched.configure(200.0, nodes=2)
    assert watched.kept == [(MovePart.TERRAFORM, 15.0), (MovePart.CONFIGURE, 200.0)]


def test_a_node_that_is_repaired_after_nodes_were_let_go_tells_nothing_of_how_long_it_boots() -> None:
    watched = Watched()
    watched.apply(15.0, added=0)
    watched.now += 7200.0
    watched.configure(30.0, nodes=1)
    assert watched.kept == [(MovePart.TERRAFORM, 15.0), (MovePart.CONFIGURE, 30.0)]
