"""The votes of the ranks for the next world."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Protocol

log = logging.getLogger(__name__)


class Vote(str, Enum):
    """What a rank of the present world has said, or what has become of it."""

    READY = "ready"
    FINISHED = "finished"
    FAILED = "failed"


class Electorate(Protocol):
    """Whoever forms worlds: Horovod's driver."""

    def hosts(self) -> set[str]:
        """Returns the hosts of the present world."""
        ...

    def finished(self) -> bool:
        """Returns whether no further world will be formed."""
        ...

    def close(self, votes: dict[str, Vote], silent: set[str]) -> None:
        """Forms the next world by these votes, without the hosts that stayed silent."""
        ...


class Ballot:
    """One vote of each host of the present world; then the next world is formed.

    It takes the place of Horovod's `WorkerStateRegistry` (horovod/runner/elastic/registration.py, version 0.28.1),
    whose barrier waits for every rank and counts a repeated question twice. Here a host has one vote. A host that stays
    silent is passed over `patience_s()` after the first other one was ready.
    """

    def __init__(
        self, electorate: Electorate, patience_s: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._electorate, self._patience_s, self._clock = electorate, patience_s, clock
        self._changed = threading.Condition()
        self._votes: dict[str, Vote] = {}
        self._first_ready_at: float | None = None
        self._round = 0

    def reset(self, size: int) -> None:
        """Begins a new round: a world of `size` ranks has been formed. Horovod's driver calls it."""
        with self._changed:
            self._votes.clear()
            self._first_ready_at = None
            self._round += 1
            self._changed.notify_all()

    def record(self, host: str, vote: Vote) -> None:
        """Takes a vote, and does not wait. A failure takes the place of what the host said before."""
        with self._changed:
            if host not in self._electorate.hosts() or (host in self._votes and vote is Vote.READY):
                return
            self._votes[host] = vote
            if vote is not Vote.FAILED and self._first_ready_at is None:
                self._first_ready_at = self._clock()
            self._changed.notify_all()

    def await_next_world(self, host: str) -> None:
        """Takes the vote of a host that is ready, and waits until the next world has been formed."""
        with self._changed:
            number = self._round
            self.record(host, Vote.READY)
            if host not in self._electorate.hosts():
                return
            while self._round == number and not self._electorate.finished():
                self._changed.wait(0.1)

    def count_when_due(self, timeout_s: float) -> bool:
        """Waits for the end of the round, and then forms the next world. Returns False where the round goes on.

        One thread calls it, again and again.
        """
        with self._changed:
            if not self._changed.wait_for(self._is_due, timeout_s) or self._electorate.finished():
                return False
            votes, silent = dict(self._votes), self._silent()
        self._electorate.close(votes, silent)
        return True

    def _silent(self) -> set[str]:
        return self._electorate.hosts() - set(self._votes)

    def _is_due(self) -> bool:
        if not self._silent():
            return bool(self._votes)
        return self._first_ready_at is not None and self._clock() - self._first_ready_at > self._patience_s()
