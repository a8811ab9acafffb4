"""`down`: ends the daemon, its hosts and every process in them."""

from __future__ import annotations

import os
import signal
import time

from localcloud.commands.exit_status import FAILED, OK, fail
from localcloud.hosts.machine.cleanup import remove_leftovers
from localcloud.hosts.machine.tools import MachineError
from localcloud.state import Running, StateDir
from localcloud.support.processes import STATE_MARKER, end_marked, start_time

END_LIMIT_S = 30.0
POLL_S = 0.05


def down(state: StateDir) -> int:
    """Runs the command, and returns its exit status. It may be run at any time."""
    running = state.running()
    if running:
        os.kill(running.pid, signal.SIGTERM)
        if not _has_ended(running):
            os.kill(running.pid, signal.SIGKILL)
    # A daemon that was killed leaves processes of its hosts. They carry the marker of the state directory.
    if not end_marked(STATE_MARKER, str(state.path)):
        return fail(FAILED, f"some processes of the hosts of {state.path} cannot be ended; run `down` again")
    try:
        remove_leftovers(state.path)
    except MachineError as error:
        return fail(FAILED, error)
    state.forget()
    print("localcloud is down" if running else "localcloud was not running")
    return OK


def _has_ended(running: Running) -> bool:
    """Waits for the end of the daemon, and returns whether it has ended in time."""
    limit = time.monotonic() + END_LIMIT_S
    while time.monotonic() < limit:
        if start_time(running.pid) != running.started:
            return True
        time.sleep(POLL_S)
    return False
