"""A rank as the launcher has it: an SSH process that reaches the worker of one node."""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import threading
import time
from contextlib import suppress
from typing import Any


class Link:
    """An SSH connection with one worker."""

    def __init__(self, options: argparse.Namespace, address: str) -> None:
        limits = ("ConnectTimeout=4", "ServerAliveInterval=4", "ServerAliveCountMax=1")
        command = [
            "ssh", "-T", "-F", str(options.ssh_config), *(word for limit in limits for word in ("-o", limit)),
            "-o", "IdentitiesOnly=yes", "-i", str(options.ssh_identity_file), "-p", str(options.ssh_port), address,
            options.attach_command,
        ]  # fmt: skip
        self._ssh = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._done: queue.Queue[bool] = queue.Queue()
        self.is_ready = False
        self.has_ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Sends the worker a message. A connection that has ended takes none."""
        assert self._ssh.stdin is not None
        try:
            self._ssh.stdin.write(json.dumps(message) + "\n")
            self._ssh.stdin.flush()
        except OSError:
            self.has_ended = True

    def await_done(self, deadline: float) -> bool:
        """Returns whether the worker says in time (monotonic seconds) that it has made its step."""
        try:
            return not self.has_ended and self._done.get(timeout=max(0.01, deadline - time.monotonic()))
        except queue.Empty:
            return False

    def end(self, how: str) -> None:
        """Lets the worker leave for good."""
        self.send({"end": how})
        with suppress(subprocess.TimeoutExpired):
            self._ssh.wait(2.0)
        self.cut()

    def cut(self) -> None:
        """Ends the connection."""
        self._ssh.kill()
        self._ssh.wait()

    def _read(self) -> None:
        assert self._ssh.stdout is not None
        for line in self._ssh.stdout:
            event = json.loads(line).get("event") if line.startswith("{") else None
            if event == "ready":
                self.is_ready = True
            elif event == "done":
                self._done.put(True)
        self.has_ended = True
        self._done.put(False)
