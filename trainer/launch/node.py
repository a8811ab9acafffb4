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
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import IO, Any, TextIO

from trainer.launch.node_reports import Report, report_of
from trainer.messages.lines import parse

log = logging.getLogger(__name__)

LONGEST_LINE_BYTES = 1 << 20
LONGEST_STEP_S = 3600.0
"""A rank that claims longer steps is not believed: the time that others wait for its vote depends on them."""


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
        self.step = 0
        self.step_time_s = 0.0
        self.progressed_at = time.monotonic()
        """When the worker last said something new: a world joined, a step made, an end begun."""
        self.training_digest: str | None = None
        self.reason: str | None = None
        self.outcome: str | None = None
        self.report: Report | None = None
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

    def notify_hosts_updated(self, timestamp: int, result: object) -> None:
        """Tells the rank that hosts come or go. Horovod's driver calls it, for rank 0."""
        self._send({"hosts": "changed"})

    def ping(self) -> None:
        """Tells the rank that its launcher is alive."""
        if self.phase in (Phase.ACTIVE, Phase.LEAVING):
            self._send({"ping": True})

    def drop(self) -> None:
        """Cuts the connection to a rank that does not go on. If it ever wakes up, it learns that it was let go."""
        self.hang_up()
        self.kill()

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
        for line in _lines(self._process.stdout):
            with contextlib.suppress(OSError, ValueError):  # a log that cannot be written must not hold the rank up
                self._output.write(f"[{self.address}] {line.decode(errors='replace')}")
                self._output.flush()

    def _read_events(self) -> None:
        assert self._process.stderr is not None
        for line in _lines(self._process.stderr):
            message = parse(line)
            if message is None:
                log.warning("%s: %s", self.address, line.decode(errors="replace").rstrip())
            else:
                self._take(message)
        self._process.wait()
        with self._phase_lock:
            self.phase, self.ended_at = Phase.ENDED, time.monotonic()

    def _take(self, message: dict[str, Any]) -> None:
        event, reason = message.get("event"), None if message.get("reason") is None else str(message["reason"])
        if event == "ready":
            self.training_digest, self.phase = str(message.get("training_digest")), Phase.READY
        elif event == "refused":
            self.phase, self.reason = Phase.REFUSED, reason
            log.error("%s takes no part: %s", self.address, reason)
        elif event == "joined":
            size = message.get("size")
            self.joined_size, self.progressed_at = (size if isinstance(size, int) else None), time.monotonic()
        elif event == "progress":
            self._take_progress(message)
        elif event == "report":
            self.report = report_of(message, time.time()) or self.report
        elif event == "leaving" and self.phase is Phase.ACTIVE:
            self.phase = Phase.LEAVING
            log.warning("%s leaves: %s", self.address, reason)
        elif event in ("finished", "stopped", "failed"):
            self.outcome, self.reason = event, reason
        elif event in ("broken", "lost"):
            self.reason = reason
            log.warning("%s: %s", self.address, reason)

    def _take_progress(self, message: dict[str, Any]) -> None:
        """Takes the step that a rank is at. A worker may send anything, so that only plain numbers are taken."""
        step, seconds = message.get("step"), message.get("step_time_s")
        if isinstance(step, int) and step != self.step:
            self.step, self.progressed_at = step, time.monotonic()
        if isinstance(seconds, (int, float)) and 0 <= seconds < LONGEST_STEP_S:
            self.step_time_s = float(seconds)


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yields the lines of a worker. A longer one than `LONGEST_LINE_BYTES` comes in pieces."""
    return iter(lambda: stream.readline(LONGEST_LINE_BYTES), b"")
