"""Starts the services of a node that are wanted and do not run, and prints what it has changed.

A service is wanted while there is a file of its name in `wanted`. Supervisor takes up a changed configuration first.
All services are started at once, the worker first: it takes longest until it is of use.

Usage: services.py ROOT_OF_THE_NODE SUPERVISOR'S_SOCKET
"""

from __future__ import annotations

import http.client
import sys
import time
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import Faults, SupervisorTransport

FAILURES = (OSError, http.client.HTTPException, xmlrpc.client.Error)
LIMIT_S = 60.0
POLL_S = 0.1
CHANGING = ("STARTING", "BACKOFF", "STOPPING")
"""The states that become something else by themselves."""


class ServicesError(Exception):
    """The services do not run in time. The message says what to look at."""


class Services:
    """The services of one node.

    Args:
        root: the node's folder.
        socket: where supervisor listens.

    Raises:
        ServicesError: supervisor does not answer in time.
    """

    def __init__(self, root: Path, socket: Path) -> None:
        self._root = root
        self._limit = time.monotonic() + LIMIT_S
        self._supervisor = self._connected(socket)

    def run(self) -> None:
        """Lets all wanted services run.

        Raises:
            ServicesError: a service neither runs nor fails in time.
        """
        self._update()
        started: set[str] = set()
        waiting = self._wanted()
        while waiting := [service for service in waiting if not self._has_settled(service, started)]:
            if time.monotonic() > self._limit:
                log = self._root / "log" / f"{waiting[0]}.log"
                raise ServicesError(f"{waiting[0]} does not run, it is {self._state(waiting[0])}; its log is {log}")
            time.sleep(POLL_S)

    def _wanted(self) -> list[str]:
        """Returns the wanted services that the node has, from Z to A: so the worker is first."""
        names = sorted((path.name for path in (self._root / "wanted").iterdir()), reverse=True)
        return [name for name in names if (self._root / "services" / f"{name}.conf").exists()]

    def _connected(self, socket: Path) -> Any:
        """Waits until supervisor answers, and returns its interface."""
        while True:
            transport: Any = SupervisorTransport(None, None, f"unix://{socket}")
            supervisor = xmlrpc.client.ServerProxy("http://127.0.0.1", transport).supervisor
            try:
                supervisor.getPID()
            except FAILURES as error:
                if time.monotonic() > self._limit:
                    log = self._root / "log" / "supervisord.log"
                    raise ServicesError(f"supervisor does not answer; its log is {log}") from error
                time.sleep(POLL_S)
            else:
                return supervisor

    def _update(self) -> None:
        """Lets supervisor take up the changed configuration, as `supervisorctl update` does."""
        ((added, changed, removed),) = self._supervisor.reloadConfig()
        for group in (*removed, *changed):
            # Another one of these programs may have been faster.
            with passing_over(Faults.BAD_NAME):
                self._supervisor.stopProcessGroup(group)
                self._supervisor.removeProcessGroup(group)
        for group in (*changed, *added):
            with passing_over(Faults.ALREADY_ADDED):
                self._supervisor.addProcessGroup(group)
        for what, groups in (("removed", removed), ("updated", changed), ("added", added)):
            for group in groups:
                print(f"{group}: {what}")

    def _has_settled(self, service: str, started: set[str]) -> bool:
        """Starts a service that does not run. Returns whether it runs, or has failed after it was started."""
        state = self._state(service)
        if state == "RUNNING":
            return True
        if state in CHANGING:
            return False
        if service in started:
            log = self._root / "log" / f"{service}.log"
            print(f"{service} has ended at once ({state}); its log is {log}", file=sys.stderr)
            return True
        started.add(service)
        with passing_over(Faults.ALREADY_STARTED, Faults.NO_FILE, Faults.NOT_EXECUTABLE, Faults.SPAWN_ERROR):
            self._supervisor.startProcess(service, False)
        print(f"{service}: started")
        return False

    def _state(self, service: str) -> str:
        return str(self._supervisor.getProcessInfo(service)["statename"])


@contextmanager
def passing_over(*codes: int) -> Iterator[None]:
    """Passes over supervisor's faults of these codes."""
    try:
        yield
    except xmlrpc.client.Fault as fault:
        if fault.faultCode not in codes:
            raise


def main() -> int:
    """Returns the exit code: 1, with a message, where the services do not run in time."""
    try:
        Services(Path(sys.argv[1]), Path(sys.argv[2])).run()
    except (ServicesError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
