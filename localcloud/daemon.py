"""The daemon: API, clock and hosts, from start to end."""

from __future__ import annotations

import logging
import shutil
import signal
import sys
import threading
from typing import Any

from localcloud.api.region import Region
from localcloud.api.server import make_api_server
from localcloud.link.hosts_process import HostsLink
from localcloud.link.spec import HostReport
from localcloud.settings import API_ADDRESS, Settings
from localcloud.state import StateDir
from localcloud.support.ports import check_free
from localcloud.support.processes import STATE_MARKER, end_marked

CLOCK_S = 0.2

log = logging.getLogger("localcloud")


def run(settings: Settings, state: StateDir) -> None:
    """Serve until asked to end (SIGTERM, SIGINT or the control API), then end every host and process.

    Raises PortTakenError when the API's port is taken, RuntimeError when the hosts' process died.
    """
    check_free(API_ADDRESS, settings.port, "port")
    # Instances do not outlive their cloud, so nothing of an earlier one is of use, and its ids never come back.
    end_marked(STATE_MARKER, str(state.path))
    shutil.rmtree(state.instances, ignore_errors=True)
    try:
        Daemon(settings, state).serve()
    finally:
        end_marked(STATE_MARKER, str(state.path))


class Daemon:
    """The API's server, the clock and the line to the hosts, in one process."""

    def __init__(self, settings: Settings, state: StateDir) -> None:
        self.lock = threading.RLock()
        self.ended = threading.Event()
        self.woken = threading.Event()
        self.failure: str | None = None
        self.region = Region(settings, state.instances, self.lock, self.tick, self.ended.set)
        self.link = HostsLink(settings, state.path, self._heard, self._hosts_died)
        self.settings = settings

    def serve(self) -> None:
        """Block until the end; raises RuntimeError when it came unasked."""
        server = make_api_server(API_ADDRESS, self.settings.port, self.region.application)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        thread = threading.Thread(target=server.serve_forever, name="api", daemon=True)
        thread.start()
        log.info("API at %s, hosts in %s", self.settings.endpoint, self.settings.vpc_cidr)
        try:
            self._keep_time()
        finally:
            server.shutdown()
            self.link.close()
            log.info("ended")
        if self.failure:
            raise RuntimeError(self.failure)

    def tick(self) -> None:
        """Bring everything one step on; the lock is held by the caller or taken here."""
        with self.lock:
            self.region.tick()
            self.link.want(self.region.machines.wanted_hosts())

    def _keep_time(self) -> None:
        while not self.ended.is_set():
            self.woken.wait(CLOCK_S)
            self.woken.clear()
            if not self.ended.is_set():
                self._tick_safely()

    def _tick_safely(self) -> None:
        try:
            self.tick()
        except Exception:  # a defect in one group must not stop the clock of all
            log.exception("a tick failed")

    def _heard(self, report: HostReport) -> None:
        with self.lock:
            self.region.machines.heard(report)
        self.woken.set()

    def _hosts_died(self, status: int) -> None:
        self.failure = f"the hosts' process died with status {status}; see the lines before"
        self._end()

    def _on_signal(self, number: int, frame: Any) -> None:
        self._end()

    def _end(self) -> None:
        self.ended.set()
        self.woken.set()


def configure_logging() -> None:
    """Log to standard error, which is the log file when detached."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
