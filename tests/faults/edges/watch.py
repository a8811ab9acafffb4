"""What is watched from outside while a run goes on: what is paid for, who trains, and whom the hosts file names."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.faults.edges.place import HEAD_USD, MOST, Machine, Place

LOOK_S = 0.4


@dataclass
class Watch:
    """Looks at a place several times a second, in a thread of its own.

    Attributes:
        seen: What was seen that must not be, each once.
        spent_usd: What the nodes have cost since the watch began.
        struck: The instances (ids) that faults were put on: their end is no fault of the controller.
    """

    place: Place
    prices: dict[str, float]
    seen: list[str] = field(default_factory=list)
    spent_usd: float = 0.0
    dearest_usd_per_hour: float = 0.0
    struck: set[str] = field(default_factory=set)
    _hosts: frozenset[str] | None = None
    _head: str = ""
    _is_foreign: bool = False

    def __post_init__(self) -> None:
        self._first_event = len(self.place.events())
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def events(self) -> list[dict[str, Any]]:
        """Returns what the stub has noted since the watch began."""
        return self.place.events()[self._first_event :]

    def stop(self) -> None:
        """Ends the watch."""
        self._stopping.set()
        self._thread.join()

    def allow_foreign_hosts(self) -> None:
        """Lets the next hosts file be one that the controller has not written."""
        self._is_foreign = True

    def world(self) -> tuple[float, frozenset[str]]:
        """Returns when the last step was made, and the addresses of the ranks that made it."""
        for event in reversed(self.events()):
            if event["event"] == "step":
                return event["at"], frozenset(event["members"])
        return 0.0, frozenset()

    def hosts(self) -> frozenset[str]:
        """Returns the addresses in the hosts file of the head."""
        with suppress(OSError, StopIteration):
            lines = self.place.hosts_file(self._head).read_text().splitlines()
            return frozenset(line.partition(":")[0] for line in lines if line and not line.startswith("#"))
        return frozenset()

    def _go_on(self) -> None:
        at = time.monotonic()
        while not self._stopping.wait(LOOK_S):
            now = time.monotonic()
            with suppress(OSError, StopIteration):
                self._look(now - at)
            at = now

    def _look(self, seconds: float) -> None:
        machines = self.place.instances()
        self._head = next(machine.id for machine in machines if machine.role == "head")
        workers = [machine for machine in machines if machine.role == "worker"]
        self._pay(workers, seconds)
        beyond = {f: n for f, n in self.place.desired().items() if n > MOST.get(f, 0)}
        if beyond:
            self._tell(f"the_cost_is_bounded_and_metered: the groups were asked for {beyond} of at most {MOST}")
        self._check_holders()

    def _pay(self, workers: list[Machine], seconds: float) -> None:
        count = Counter(worker.flavor for worker in workers)
        usd_per_hour = HEAD_USD + sum(self.prices.get(flavor, 0.0) * n for flavor, n in count.items())
        self.dearest_usd_per_hour = max(self.dearest_usd_per_hour, usd_per_hour)
        self.spent_usd += usd_per_hour * seconds / 3600.0

    def _check_holders(self) -> None:
        """Checks a hosts file that has changed: it names a rank that makes steps, where there is one."""
        hosts = self.hosts()
        if hosts == self._hosts or not hosts:
            return
        self._hosts = hosts
        if self._is_foreign:
            self._is_foreign = False
            return
        stepped_at, ranks = self.world()
        if time.time() - stepped_at < 1.0 and not hosts & ranks:
            self._tell(
                f"the_hosts_file_names_a_holder_of_the_state: it names {sorted(hosts)}, and {sorted(ranks)} train"
            )

    def _tell(self, what: str) -> None:
        if what not in self.seen:
            self.seen.append(what)
