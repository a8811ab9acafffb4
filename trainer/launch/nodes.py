"""All hosts that the launcher is connected to."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TextIO

from trainer.elastic.rank_report import FOREIGN
from trainer.launch.node import Node, Phase

log = logging.getLogger(__name__)

RETRY_S = 2.0
COOL_DOWN_RANGE_S = (60.0, 900.0)
"""How long a host that was dropped is left out: the first value, twice as long each time, at most the second one."""


@dataclass(frozen=True)
class Dropped:
    """A host whose rank did not go on, and that was let go.

    Attributes:
        address: The host.
        reason: Why, in words for a person.
        at: When, in seconds since the epoch.
        again_at: When it may come back.
        count: How often it has been dropped.
    """

    address: str
    reason: str
    at: float
    again_at: float
    count: int


class Nodes:
    """The nodes of the hosts file, and those that are no longer in it and have not ended."""

    def __init__(self, command_for: Callable[[str], list[str]], output: TextIO = sys.stdout) -> None:
        self._command_for, self._output = command_for, output
        self._nodes: dict[str, Node] = {}
        self._lock = threading.Lock()
        self._wanted: frozenset[str] = frozenset()
        self._dropped: dict[str, Dropped] = {}
        self._left_out_until: dict[str, float] = {}
        self._progressed_at = time.monotonic()
        self._highest_step = 0
        self._ended: list[Node] = []

    def keep(self, wanted: Iterable[str]) -> None:
        """Connects to the wanted hosts, and lets go of other hosts whose workers only wait.

        A host that was lost is tried again after a while.
        """
        names = list(dict.fromkeys(wanted))
        with self._lock:
            self._wanted = frozenset(names)
            for address in names:
                node = self._nodes.get(address)
                if node is not None and node.phase is Phase.ENDED and time.monotonic() - node.ended_at > RETRY_S:
                    self._bury(self._nodes.pop(address))
                    node = None
                if node is None:
                    self._nodes[address] = Node(address, self._command_for(address), self._output)
            for address, node in list(self._nodes.items()):
                if address not in names and node.phase in (Phase.CONNECTING, Phase.READY, Phase.REFUSED):
                    node.hang_up()
                    node.kill()
                    self._bury(self._nodes.pop(address))
                elif address not in names and node.phase is Phase.ENDED:
                    self._bury(self._nodes.pop(address))

    def get(self, address: str) -> Node | None:
        """Returns the node at `address`."""
        with self._lock:
            return self._nodes.get(address)

    def usable(self, wanted: Iterable[str]) -> list[str]:
        """Returns those of `wanted` that Horovod may count on."""
        now = time.monotonic()
        cool = [address for address in wanted if self._left_out_until.get(address, now) <= now]
        return [address for address in cool if (node := self.get(address)) is not None and node.is_usable]

    def is_wanted(self, address: str) -> bool:
        """Returns whether a host is in the hosts file."""
        return address in self._wanted

    def drop(self, address: str, reason: str) -> None:
        """Lets go of a host whose rank does not go on, and leaves it out for a while."""
        count = self._dropped[address].count + 1 if address in self._dropped else 1
        first_s, most_s = COOL_DOWN_RANGE_S
        pause_s = min(first_s * 2.0 ** (count - 1), most_s)
        log.error("%s is dropped for %.0f s: %s", address, pause_s, reason)
        self._left_out_until[address] = time.monotonic() + pause_s
        self._dropped[address] = Dropped(address, reason, time.time(), time.time() + pause_s, count)
        if (node := self.get(address)) is not None:
            node.drop()

    def dropped(self) -> list[Dropped]:
        """Returns the hosts that were dropped and have not come back to the training."""
        active = {node.address for node in self.in_phase(Phase.ACTIVE)}
        return [one for address, one in self._dropped.items() if address in self._wanted - active]

    def ping(self) -> None:
        """Tells all ranks that their launcher is alive."""
        for node in self.in_phase(Phase.ACTIVE, Phase.LEAVING):
            node.ping()

    def begin_attempt(self) -> None:
        """Lets the time without any step begin now."""
        self._progressed_at = time.monotonic()

    @property
    def progressed_at(self) -> float:
        """When a rank last made a step or joined a world, on the monotonic clock."""
        return max([self._progressed_at, *(node.progressed_at for node in self.in_phase(Phase.ACTIVE, Phase.LEAVING))])

    @property
    def step(self) -> int:
        """The highest step that any rank has ever told."""
        return max([self._highest_step, *(node.step for node in self.everyone())])

    def longest_step_s(self) -> float:
        """Returns the longest step time that a rank has told, in seconds; 0 where none has."""
        return max((node.step_time_s for node in self.in_phase(Phase.ACTIVE, Phase.LEAVING)), default=0.0)

    def of_one_training(self, wanted: Iterable[str]) -> list[str]:
        """Returns the usable hosts that are of the same training, and refuses the others.

        The training is that of the nodes which train. Before any node trains, it is that of most nodes.
        """
        usable = [node for address in self.usable(wanted) if (node := self.get(address)) is not None]
        training = self.in_phase(Phase.ACTIVE, Phase.LEAVING)
        common = Counter(node.training_digest for node in training or usable).most_common(1)
        foreign = [node for node in usable if node.phase is Phase.READY and node.training_digest != common[0][0]]
        for node in foreign:
            node.refuse(FOREIGN)
        return [node.address for node in usable if node not in foreign]

    def in_phase(self, *phases: Phase) -> list[Node]:
        """Returns the nodes in one of these phases."""
        with self._lock:
            return [node for node in self._nodes.values() if node.phase in phases]

    def everyone(self) -> list[Node]:
        """Returns all nodes that there are, and those of this attempt that have said how it ended."""
        with self._lock:
            return [*self._ended, *self._nodes.values()]

    def forget_outcomes(self) -> None:
        """Forgets what the nodes of an attempt that has ended have said about its end."""
        with self._lock:
            self._ended.clear()
            for node in self._nodes.values():
                node.outcome = None

    def _bury(self, node: Node) -> None:
        self._highest_step = max(self._highest_step, node.step)
        if node.outcome is not None:
            self._ended.append(node)

    def close(self, timeout_s: float = 10.0) -> None:
        """Closes all connections, and ends the SSH processes that do not end by themselves."""
        nodes = self.everyone()
        for node in nodes:
            node.hang_up()
        deadline = time.monotonic() + timeout_s
        for node in nodes:
            if node.wait(max(0.0, deadline - time.monotonic())) is None:
                node.kill()
