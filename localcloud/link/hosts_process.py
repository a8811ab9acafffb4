"""The hosts' process as the daemon sees it: a child process that takes wanted hosts and gives reports."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.messages import CONFIGURATION, OPEN, REPORT, WANTED
from localcloud.link.report import Report
from localcloud.link.wanted import Wanted

END_LIMIT_S = 20.0
MODULE = "localcloud.hosts"


class HostsProcess:
    """The child process with all hosts.

    A thread calls `heard` for each report. It calls `died` with the exit status if the process ends unasked.
    """

    def __init__(self, configuration: HostsConfiguration, heard: Report, died: Callable[[int], None]) -> None:
        self._heard = heard
        self._died = died
        self._last = Wanted([])
        self._closing = False
        self._opened = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C on a daemon in the foreground is not meant for the hosts
        )
        self._send(CONFIGURATION.to_line(configuration))
        self._reader = threading.Thread(target=self._read, name="hosts", daemon=True)
        self._reader.start()

    def wait_until_open(self) -> None:
        """Blocks until the process takes hosts, or has ended."""
        self._opened.wait()

    def want(self, wanted: Wanted) -> None:
        """Sends which hosts shall run in which network, if that has changed."""
        if wanted != self._last:
            self._last = wanted
            self._send(WANTED.to_line(wanted))

    def close(self) -> None:
        """Ends all hosts and their process, and waits until they have ended."""
        self._closing = True
        assert self._process.stdin
        try:
            self._process.stdin.close()
            self._process.wait(END_LIMIT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def _send(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # the process has ended; the reading thread notices that and calls `died`

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            if line == OPEN:
                self._opened.set()
            else:
                self._heard(REPORT.from_line(line))
        status = self._process.wait()
        if not self._closing:
            self._died(status)
        self._opened.set()
