"""The API's end of the line to the hosts' process: sends the wanted hosts, receives what became of them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from localcloud.link.spec import HostReport, HostSpec
from localcloud.settings import Settings

END_LIMIT_S = 20.0


class HostsLink:
    """A child process with all hosts. A thread calls `heard` for each report, `died` if the process ended unasked."""

    def __init__(
        self, settings: Settings, state_dir: Path, heard: Callable[[HostReport], None], died: Callable[[int], None]
    ) -> None:
        self._heard = heard
        self._died = died
        self._last: list[HostSpec] = []
        self._closing = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "localcloud.hosts"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C on a daemon in the foreground is not meant for the hosts
        )
        self._send({"settings": json.loads(settings.model_dump_json()), "state_dir": str(state_dir)})
        self._reader = threading.Thread(target=self._read, name="hosts", daemon=True)
        self._reader.start()

    def want(self, specs: list[HostSpec]) -> None:
        """Tell which hosts shall run, if that has changed."""
        if specs != self._last:
            self._last = specs
            self._send([spec.to_json() for spec in specs])

    def close(self) -> None:
        """End all hosts and their process, and wait for that."""
        self._closing = True
        assert self._process.stdin
        try:
            self._process.stdin.close()
            self._process.wait(END_LIMIT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def _send(self, document: object) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(document) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # the reader sees the end of the process and says so

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._heard(HostReport(**json.loads(line)))
        status = self._process.wait()
        if not self._closing:
            self._died(status)
