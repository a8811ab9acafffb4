"""The faults of a host: what goes wrong in it for as long as its specification says so."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from pathlib import Path

from localcloud.hosts.loopback.disk import Disk
from localcloud.hosts.loopback.partition import Partition
from localcloud.hosts.loopback.ssh_server import SshServer
from localcloud.link.spec import HostFault, HostSpec
from localcloud.support.processes import INSTANCE_MARKER, marked, send

PERIOD_S = 0.2
FREEZE, HANG_SSH, FILL_DISK, PARTITION = "freeze", "hang-ssh", "fill-disk", "partition"

log = logging.getLogger("localcloud.hosts")


class HostFaults:
    """Brings faults about and ends them.

    Processes come and go while a fault is in force, so it is brought about again every `PERIOD_S` seconds.
    """

    def __init__(self, spec: HostSpec, state_dir: Path, ssh: SshServer, disk: Disk) -> None:
        self._spec = spec
        self._state_dir = state_dir
        self._ssh = ssh
        self._disk = disk
        self._in_force: tuple[HostFault, ...] = ()
        self._partitions: dict[HostFault, Partition] = {}
        self._task: asyncio.Task[None] | None = None

    def follow(self, spec: HostSpec) -> None:
        """Takes over the faults of a specification. They come and go within moments."""
        self._spec = spec
        self._disk.is_full = FILL_DISK in _kinds(spec.faults)
        if spec.faults and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._enforce())

    async def end(self) -> None:
        """Stops bringing faults about, because the host ends. Its processes take what was brought about with them."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _enforce(self) -> None:
        """Brings the wanted faults about, and ends those that are not wanted any more, until there are none."""
        while self._spec.faults or self._in_force:
            wanted = self._spec.faults
            try:
                await self._follow_ssh(_kinds(wanted))
                await asyncio.to_thread(self._follow_processes, _kinds(self._in_force), _kinds(wanted))
                await asyncio.to_thread(self._follow_partitions, wanted)
                self._in_force = wanted
            except OSError:
                log.exception("%s: a fault cannot be brought about; another attempt follows", self._spec.instance_id)
            await asyncio.sleep(PERIOD_S)

    async def _follow_ssh(self, wanted: set[str]) -> None:
        if wanted & {FREEZE, HANG_SSH}:
            self._ssh.hang()
        else:
            await self._ssh.answer_again()

    def _follow_processes(self, before: set[str], wanted: set[str]) -> None:
        if FREEZE in before | wanted:
            send(self._processes(), signal.SIGSTOP if FREEZE in wanted else signal.SIGCONT)
        if FILL_DISK in before | wanted:
            self._disk.enforce(self._processes())

    def _follow_partitions(self, wanted: tuple[HostFault, ...]) -> None:
        cuts = [fault for fault in wanted if fault.kind == PARTITION]
        for fault in set(self._partitions) - set(cuts):
            self._partitions.pop(fault).end()
        for fault in cuts:
            partition = self._partitions.setdefault(fault, Partition(fault, self._spec, self._state_dir, self._ssh))
            partition.enforce()

    def _processes(self) -> set[int]:
        return marked(INSTANCE_MARKER, self._spec.instance_id)


def _kinds(faults: tuple[HostFault, ...]) -> set[str]:
    return {fault.kind for fault in faults}
