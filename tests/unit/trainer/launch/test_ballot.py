"""A round of votes ends, also where a host stays silent."""

from __future__ import annotations

import threading

import pytest

from trainer.launch.ballot import Ballot, Vote


class Fleet:
    """Hosts that vote, and what the votes came to."""

    def __init__(self, *hosts: str) -> None:
        self.world, self.is_over = set(hosts), False
        self.closed: list[tuple[dict[str, Vote], set[str]]] = []
        self.now = 0.0
        self.ballot = Ballot(self, lambda: 30.0, lambda: self.now)
        self.ballot.reset(len(hosts))

    def hosts(self) -> set[str]:
        return self.world

    def finished(self) -> bool:
        return self.is_over

    def close(self, votes: dict[str, Vote], silent: set[str]) -> None:
        self.closed.append((votes, silent))
        self.world = {host for host in self.world if votes.get(host) is Vote.READY}
        self.ballot.reset(len(self.world))

    def count(self) -> bool:
        return self.ballot.count_when_due(0.0)


def ready(fleet: Fleet, *hosts: str) -> list[threading.Thread]:
    """Lets hosts say that they are ready, each in a thread that waits for the next world."""
    threads = [threading.Thread(target=fleet.ballot.await_next_world, args=(host,), daemon=True) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(0.2)
    return threads


def test_the_round_ends_when_everybody_has_voted() -> None:
    fleet = Fleet("a", "b")
    (first,) = ready(fleet, "a")
    assert not fleet.count() and first.is_alive()
    (second,) = ready(fleet, "b")
    assert fleet.count()
    for thread in (first, second):
        thread.join(10)
        assert not thread.is_alive()
    assert fleet.closed == [({"a": Vote.READY, "b": Vote.READY}, set())]


def test_a_host_that_asks_twice_has_one_vote() -> None:
    fleet = Fleet("a", "b")
    ready(fleet, "a", "a")
    assert not fleet.count()


def test_a_silent_host_is_passed_over_after_a_while() -> None:
    fleet = Fleet("a", "b", "c")
    fleet.now = 100.0
    ready(fleet, "a", "b")
    fleet.now = 130.0
    assert not fleet.count()
    fleet.now = 130.1
    assert fleet.count()
    assert fleet.closed[0][1] == {"c"}


def test_a_host_that_was_passed_over_does_not_wait_and_does_not_vote() -> None:
    fleet = Fleet("a", "b")
    ready(fleet, "a")
    fleet.now = 31.0
    assert fleet.count()
    (late,) = ready(fleet, "b")
    assert not late.is_alive()
    ready(fleet, "a")
    assert fleet.count()
    assert fleet.closed[1] == ({"a": Vote.READY}, set())


def test_a_failure_takes_the_place_of_an_earlier_vote() -> None:
    fleet = Fleet("a", "b")
    ready(fleet, "a")
    fleet.ballot.record("a", Vote.FAILED)
    ready(fleet, "b")
    assert fleet.count()
    assert fleet.closed[0][0] == {"a": Vote.FAILED, "b": Vote.READY}


def test_a_failure_alone_hurries_nobody() -> None:
    fleet = Fleet("a", "b")
    fleet.ballot.record("a", Vote.FAILED)
    fleet.now = 1e6
    assert not fleet.count()


@pytest.mark.parametrize("vote", [Vote.FINISHED, Vote.FAILED])
def test_votes_of_strangers_do_not_count(vote: Vote) -> None:
    fleet = Fleet("a")
    fleet.ballot.record("z", vote)
    assert not fleet.count()


def test_nobody_waits_any_more_when_all_is_over() -> None:
    fleet = Fleet("a", "b")
    (waiting,) = ready(fleet, "a")
    fleet.is_over = True
    waiting.join(10)
    assert not waiting.is_alive()
    assert not fleet.count()
