"""The launcher's view of the nodes: one SSH process for each host of the hosts file, tied to its warm worker.

They are tied before Horovod hears of the host, while the training goes on, so that a join costs no SSH connection and
no process start. A host whose worker is not warm yet, or is too small, is not offered to Horovod at all.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TextIO

from trainer.messages.lines import parse
from trainer.training.digest import STRANGER

log = logging.getLogger(__name__)

RETRY_S = 2.0


class Phase(str, Enum):
    """Where a node's worker is."""

    CONNECTING = "connecting"
    READY = "ready"
    REFUSED = "refused"
    ACTIVE = "active"
    LEAVING = "leaving"
    ENDED = "ended"


class Node:
    """One host's SSH process, and what the worker at its other end has said."""

    def __init__(self, address: str, command: list[str], output: TextIO) -> None:
        self.address = address
        self.phase = Phase.CONNECTING
        self.joined_size: int | None = None
        self.identity: str | None = None
        self.reason: str | None = None
        self.outcome: str | None = None
        self.ended_at = 0.0
        self._output = output
        self._lock, self._phase_lock = threading.Lock(), threading.Lock()
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "USER") if name in os.environ}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the launcher, which tells the workers in its own way
        )
        self._readers = [
            threading.Thread(target=reader, name=f"{reader.__name__} {address}", daemon=True)
            for reader in (self._read_output, self._read_events)
        ]
        for thread in self._readers:
            thread.start()

    @property
    def is_usable(self) -> bool:
        """Whether Horovod may count on this host."""
        return self.phase in (Phase.READY, Phase.ACTIVE)

    def activate(self, environment: Mapping[str, str]) -> bool:
        """Make the warm worker a rank; False where it is not ready any more."""
        if not self._leave_ready(Phase.ACTIVE):
            return False
        self._send({"env": dict(environment)})
        return True

    def stop(self, reason: str) -> None:
        """Ask the rank to stop the whole training, with a checkpoint."""
        self._send({"stop": reason})

    def refuse(self, reason: str) -> None:
        """Let the worker, which is ready, take no part; it is told why and says so in its fact."""
        if self._leave_ready(Phase.REFUSED):
            self.reason = reason
            log.error("%s takes no part: %s", self.address, reason)
            self._send({"refuse": reason})

    def hang_up(self) -> None:
        """Close the string: a worker that waits goes on waiting, one that trains ends soon."""
        with self._lock:
            if self._process.stdin is not None and not self._process.stdin.closed:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def kill(self) -> None:
        """End the SSH process itself."""
        self._process.kill()

    def wait(self, timeout_s: float) -> int | None:
        """The worker's exit code, None while it goes on."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        for thread in self._readers:
            thread.join(timeout=5.0)
        return code

    def _leave_ready(self, phase: Phase) -> bool:
        """Go from ready to `phase`, unless another thread has gone elsewhere meanwhile."""
        with self._phase_lock:
            if self.phase is not Phase.READY:
                return False
            self.phase = phase
            return True

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:
                log.warning("%s cannot be told anything: %s", self.address, error)

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._output.write(f"[{self.address}] {line.decode(errors='replace')}")
            self._output.flush()

    def _read_events(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            message = parse(line)
            if message is None:
                log.warning("%s: %s", self.address, line.decode(errors="replace").rstrip())
            else:
                self._take(message)
        self._process.wait()
        with self._phase_lock:
            self.phase, self.ended_at = Phase.ENDED, time.monotonic()

    def _take(self, message: dict[str, Any]) -> None:
        event, reason = message.get("event"), message.get("reason")
        if event == "ready":
            self.identity, self.phase = message.get("identity"), Phase.READY
        elif event == "refused":
            self.phase, self.reason = Phase.REFUSED, reason
            log.error("%s takes no part: %s", self.address, reason)
        elif event == "joined":
            self.joined_size = message.get("size")
        elif event == "leaving" and self.phase is Phase.ACTIVE:
            self.phase = Phase.LEAVING
            log.warning("%s leaves: %s", self.address, reason)
        elif event in ("finished", "stopped", "failed"):
            self.outcome, self.reason = event, reason
        elif event == "lost":
            log.warning("%s: %s", self.address, reason)


class Nodes:
    """All nodes of the hosts file, by address, and those that are no longer in it but have not ended."""

    def __init__(self, command_for: Callable[[str], list[str]], output: TextIO = sys.stdout) -> None:
        self._command_for, self._output = command_for, output
        self._nodes: dict[str, Node] = {}
        self._lock = threading.Lock()
        self.ended: list[Node] = []

    def keep(self, wanted: Iterable[str]) -> None:
        """Tie every wanted host that is not tied, a while after it was lost; let go of those that merely wait."""
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
        """The node at `address`."""
        with self._lock:
            return self._nodes.get(address)

    def usable(self, wanted: Iterable[str]) -> list[str]:
        """Those of `wanted` that Horovod may count on."""
        return [address for address in wanted if (node := self.get(address)) is not None and node.is_usable]

    def of_one_training(self, wanted: Iterable[str]) -> list[str]:
        """`usable` without strangers: nodes of another training than those that train, or, before any does, than
        most. Those are refused."""
        usable = [node for address in self.usable(wanted) if (node := self.get(address)) is not None]
        training = self.in_phase(Phase.ACTIVE, Phase.LEAVING)
        common = Counter(node.identity for node in training or usable).most_common(1)
        strangers = [node for node in usable if node.phase is Phase.READY and node.identity != common[0][0]]
        for node in strangers:
            node.refuse(STRANGER)
        return [node.address for node in usable if node not in strangers]

    def in_phase(self, *phases: Phase) -> list[Node]:
        """The nodes in one of these phases."""
        with self._lock:
            return [node for node in self._nodes.values() if node.phase in phases]

    def everyone(self) -> list[Node]:
        """All nodes there ever were."""
        with self._lock:
            return [*self.ended, *self._nodes.values()]

    def close(self, timeout_s: float = 10.0) -> None:
        """Hang up on all, and end what does not end."""
        nodes = self.everyone()
        for node in nodes:
            node.hang_up()
        deadline = time.monotonic() + timeout_s
        for node in nodes:
            if node.wait(max(0.0, deadline - time.monotonic())) is None:
                node.kill()
