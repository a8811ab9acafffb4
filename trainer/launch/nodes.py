"""All hosts that the launcher is connected to."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TextIO

from trainer.elastic.rank_report import FOREIGN
from trainer.launch.node import Node, Phase

RETRY_S = 2.0


class Nodes:
    """The nodes of the hosts file, and those that are no longer in it and have not ended."""

    def __init__(self, command_for: Callable[[str], list[str]], output: TextIO = sys.stdout) -> None:
        self._command_for, self._output = command_for, output
        self._nodes: dict[str, Node] = {}
        self._lock = threading.Lock()
        self.ended: list[Node] = []

    def keep(self, wanted: Iterable[str]) -> None:
        """Connects to the wanted hosts, and lets go of other hosts whose workers only wait.

        A host that was lost is tried again after a while.
        """
        names = list(dict.fromkeys(wanted))
        with self._lock:
            for address in names:
                node = self._nodes.get(address)
                if node is not None and node.phase is Phase.ENDED and time.monotonic() - node.ended_at > RETRY_S:
                    self.ended.append(self._nodes.pop(address))
                    node = None
                if node is None:
                    self._nodes[address] = Node(address, self._command_for(address), self._output)
            for address, node in list(self._nodes.items()):
                if address not in names and node.phase in (Phase.CONNECTING, Phase.READY, Phase.REFUSED):
                    node.hang_up()
                    node.kill()
                    self.ended.append(self._nodes.pop(address))
                elif address not in names and node.phase is Phase.ENDED:
                    self.ended.append(self._nodes.pop(address))

    def get(self, address: str) -> Node | None:
        """Returns the node at `address`."""
        with self._lock:
            return self._nodes.get(address)

    def usable(self, wanted: Iterable[str]) -> list[str]:
        """Returns those of `wanted` that Horovod may count on."""
        return [address for address in wanted if (node := self.get(address)) is not None and node.is_usable]

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
        """Returns all nodes that there have ever been."""
        with self._lock:
            return [*self.ended, *self._nodes.values()]

    def close(self, timeout_s: float = 10.0) -> None:
        """Closes all connections, and ends the SSH processes that do not end by themselves."""
        nodes = self.everyone()
        for node in nodes:
            node.hang_up()
        deadline = time.monotonic() + timeout_s
        for node in nodes:
            if node.wait(max(0.0, deadline - time.monotonic())) is None:
                node.kill()
