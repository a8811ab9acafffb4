"""The daemon: the API, its clock, and the hosts' process as a child, from start to end."""

from __future__ import annotations

import logging
import shutil
import signal
import threading
from typing import Any

from localcloud.api.region import Region
from localcloud.api.server import make_api_server
from localcloud.hosts.machine.cleanup import remove_leftovers
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.hosts_process import HostsProcess
from localcloud.link.instance_dir import instances_in
from localcloud.link.report import HostReport
from localcloud.settings import API_ADDRESS, Settings
from localcloud.state import StateDir
from localcloud.support.ports import check_free
from localcloud.support.processes import STATE_MARKER, end_marked

CLOCK_S = 0.2

log = logging.getLogger("localcloud")


def run(settings: Settings, state: StateDir) -> None:
    """Serves until it is asked to end (SIGTERM, SIGINT or the control API), then ends every host and process.

    Raises:
        PortTakenError: the API's port is taken.
        RuntimeError: the hosts' process died.
        ValueError: the file of prices cannot be used.
    """
    check_free(API_ADDRESS, settings.port, "port")
    # Instances do not outlive their cloud, and their ids never come back. So nothing of an earlier cloud is of use.
    end_marked(STATE_MARKER, str(state.path))
    remove_leftovers(state.path)
    shutil.rmtree(instances_in(state.path), ignore_errors=True)
    try:
        Daemon(settings, state).serve()
    finally:
        end_marked(STATE_MARKER, str(state.path))
        remove_leftovers(state.path)


class Daemon:
    """The API's server, the clock and the link to the hosts' process."""

    def __init__(self, settings: Settings, state: StateDir) -> None:
        self.lock = threading.RLock()
        self.ended = threading.Event()
        self.woken = threading.Event()
        self.failure: str | None = None
        credentials = state.credentials()
        self.region = Region(settings, credentials, state.path, self.lock, self.tick, self.ended.set)
        configuration = HostsConfiguration(settings, state.path)
        self.hosts = HostsProcess(configuration, self._heard, self._hosts_died)
        self.settings = settings

    def serve(self) -> None:
        """Blocks until the daemon ends.

        Raises:
            RuntimeError: the hosts' process died.
        """
        server = make_api_server(API_ADDRESS, self.settings.port, self.region.application)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self.hosts.wait_until_open()
        thread = threading.Thread(target=server.serve_forever, name="api", daemon=True)
        thread.start()
        log.info("API at %s, hosts in %s", self.settings.endpoint, self.settings.host_range)
        try:
            self._keep_time()
        finally:
            server.shutdown()
            self.hosts.close()
            log.info("ended")
        if self.failure:
            raise RuntimeError(self.failure)

    def tick(self) -> None:
        """Lets the region follow what has happened, and tells the hosts' process which hosts shall run."""
        with self.lock:
            self.region.tick()
            self.hosts.want(self.region.wanted())

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
            log.exception("a tick failed; the next one comes in %s s", CLOCK_S)

    def _heard(self, report: HostReport) -> None:
        with self.lock:
            self.region.heard(report)
        self.woken.set()

    def _hosts_died(self, status: int) -> None:
        self.failure = f"the hosts' process died with status {status}; the lines before this one in the log say why"
        self._end()

    def _on_signal(self, number: int, frame: Any) -> None:
        self._end()

    def _end(self) -> None:
        self.ended.set()
        self.woken.set()
