"""One host, as the launcher sees it: an SSH process to its warm worker, and what the worker has said.

The launcher connects before Horovod hears of the host, while the training runs. So a rank that joins waits neither for
an SSH connection nor for the start of a process.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from enum import Enum
from typing import Any, TextIO

from trainer.messages.lines import parse

log = logging.getLogger(__name__)


class Phase(str, Enum):
    """What a node's worker does."""

    CONNECTING = "connecting"
    READY = "ready"
    REFUSED = "refused"
    ACTIVE = "active"
    LEAVING = "leaving"
    ENDED = "ended"


class Node:
    """One host: the SSH process to it, and what its worker has said."""

    def __init__(self, address: str, command: list[str], output: TextIO) -> None:
        self.address = address
        self.phase = Phase.CONNECTING
        self.joined_size: int | None = None
        self.training_digest: str | None = None
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
            start_new_session=True,  # Ctrl-C is for the launcher, which tells the workers itself
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
        """Makes the warm worker a rank. Returns False where it is not ready any more."""
        if not self._leave_ready(Phase.ACTIVE):
            return False
        self._send({"env": dict(environment)})
        return True

    def stop(self, reason: str) -> None:
        """Asks the rank to stop the whole training, with a checkpoint."""
        self._send({"stop": reason})

    def refuse(self, reason: str) -> None:
        """Lets the worker, which is ready, take no part. It is told why, and its fact says so."""
        if self._leave_ready(Phase.REFUSED):
            self.reason = reason
            log.error("%s takes no part: %s", self.address, reason)
            self._send({"refuse": reason})

    def hang_up(self) -> None:
        """Closes the connection. A worker that waits continues to wait; one that trains ends soon."""
        with self._lock:
            if self._process.stdin is not None and not self._process.stdin.closed:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()

    def kill(self) -> None:
        """Ends the SSH process."""
        self._process.kill()

    def wait(self, timeout_s: float) -> int | None:
        """Waits for the end of the worker. Returns its exit code, or None after `timeout_s`."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        for thread in self._readers:
            thread.join(timeout=5.0)
        return code

    def _leave_ready(self, phase: Phase) -> bool:
        """Goes from ready to `phase`. Returns False where another thread has left ready before."""
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
                log.warning("nothing can be sent to %s: %s", self.address, error)

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
            self.training_digest, self.phase = message.get("training_digest"), Phase.READY
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
