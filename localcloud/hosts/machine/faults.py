"""The faults of a machine. A partition is the firewall's work, and the services'."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from localcloud.hosts.machine.boot.cgroups import ControlGroups
from localcloud.hosts.machine.disk.volume import Volume
from localcloud.link.spec import HostSpec

FREEZE, HANG_SSH, FILL_DISK = "freeze", "hang-ssh", "fill-disk"


class MachineFaults:
    """Brings the faults of a specification about, and ends those that it does not have any more."""

    def __init__(self, groups: ControlGroups, volume: Volume) -> None:
        self._groups = groups
        self._volume = volume
        self._in_force: frozenset[str] = frozenset()

    def follow(self, spec: HostSpec) -> None:
        """Lets exactly the faults of a specification be in force.

        Raises:
            OSError: one cannot be brought about.
        """
        wanted = frozenset(fault.kind for fault in spec.faults)
        begin, end = wanted - self._in_force, self._in_force - wanted
        if FILL_DISK in begin:
            self._volume.fill()
        if FILL_DISK in end:
            self._volume.free()
        if FREEZE in begin | end:
            self._groups.freeze(FREEZE in wanted)
        if HANG_SSH in begin | end:
            self._signal_sshd(signal.SIGSTOP if HANG_SSH in wanted else signal.SIGCONT)
        self._in_force = wanted

    def end(self) -> None:
        """Lets the processes go on, because the machine is to halt."""
        if FREEZE in self._in_force:
            self._groups.freeze(False)
        self._in_force = frozenset()

    def _signal_sshd(self, number: signal.Signals) -> None:
        """Stops the SSH server and its sessions. The kernel still accepts connections for it."""
        for pid in self._groups.processes():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == "sshd":
                    os.kill(pid, number)
