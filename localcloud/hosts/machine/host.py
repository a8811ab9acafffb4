"""One machine, from one boot to its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging

from localcloud.hosts.machine.boot.cgroups import ControlGroups
from localcloud.hosts.machine.boot.nspawn import REBOOT, Boot, Machine
from localcloud.hosts.machine.disk.seed import seed
from localcloud.hosts.machine.disk.volume import Volume
from localcloud.hosts.machine.faults import MachineFaults
from localcloud.hosts.machine.network.namespace import Namespace
from localcloud.hosts.machine.services.services import Services
from localcloud.hosts.machine.shared import Shared
from localcloud.hosts.machine.tools import MachineError
from localcloud.link.report import HostReport, HostState, Report
from localcloud.link.spec import HostSpec
from localcloud.support.processes import INSTANCE_MARKER, STATE_MARKER

SSH_PORT = 22
POLL_S = 0.2
CONNECT_LIMIT_S = 1.0
LINES_SHOWN = 5

log = logging.getLogger("localcloud.hosts")


class MachineHost:
    """A Debian 12 of its own, with a volume, a network namespace and the services of EC2 within."""

    def __init__(self, spec: HostSpec, shared: Shared, report: Report) -> None:
        self._spec = spec
        self._shared = shared
        self._report = report
        self._state = HostState.BOOTING
        self._detail = ""
        self._user_data = "none"
        directory = shared.configuration.instance_dir(spec.instance_id)
        self._directory = directory
        self._volume = Volume(directory.path, spec.volume_gb)
        self._groups = ControlGroups(shared.names.cgroup, spec.instance_id)
        self._services = Services(spec, shared.configuration)
        self._faults = MachineFaults(self._groups, self._volume)
        self._namespace: Namespace | None = None
        self._boot: Boot | None = None
        self._life: asyncio.Task[None] | None = None
        self._following = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def spec(self) -> HostSpec:
        """The specification that the host follows now."""
        return self._spec

    def update(self, spec: HostSpec) -> None:
        """Takes over what may change while a machine runs: tags, role, the notice of a spot interruption, faults."""
        self._spec = spec
        self._services.follow(spec)
        if self._boot:
            task = asyncio.create_task(self._follow_faults())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def start(self) -> None:
        """Boots: attaches the volume, plugs the network in, starts the services, then Debian."""
        self._tell(HostState.BOOTING)
        if self._spec.unreachable:
            self._tell(HostState.BOOTING, "the host stays unreachable, as configured")
            return
        try:
            self._directory.path.mkdir(parents=True, exist_ok=True)
            await self._shared.snapshots.volume_is_free(self._spec.instance_id)
            await asyncio.to_thread(self._prepare)
            assert self._namespace
            await self._services.start(self._namespace)
            self._boot = Boot(self._machine(self._namespace))
            await self._boot.start()
        except (MachineError, OSError) as error:
            await self._take_apart()
            self._tell(HostState.FAILED, f"the machine cannot boot: {error}")
            return
        self._life = asyncio.create_task(self._live())

    async def stop(self) -> None:
        """Shuts the machine down, and removes all but its volume, with which it may start again."""
        self._tell(HostState.STOPPING)
        if self._life:
            self._life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._life
        for task in self._tasks:
            task.cancel()
        await asyncio.to_thread(self._faults.end)
        await self._take_apart()
        self._tell(HostState.GONE)

    async def _take_apart(self) -> None:
        if self._boot:
            await self._boot.halt()
        await self._services.stop()
        await asyncio.to_thread(self._shared.bridges.unplug, self._spec.instance_id)
        await asyncio.to_thread(self._volume.detach)
        await asyncio.to_thread(self._groups.remove)

    def _prepare(self) -> None:
        self._volume.attach(self._shared.layers(self._spec))
        seed(self._volume.root, self._shared.environment(self._spec))
        subnet = self._shared.subnet(self._spec)
        self._namespace = self._shared.bridges.plug(self._spec, subnet)
        self._make_groups()

    def _make_groups(self) -> None:
        self._groups.make(self._spec.memory_mib, self._spec.vcpus)

    def _machine(self, namespace: Namespace) -> Machine:
        return Machine(
            instance_id=self._spec.instance_id,
            hostname=self._spec.hostname.partition(".")[0],
            root=self._volume.root,
            namespace=namespace.path,
            entrances=self._groups.entrances,
            marker={
                INSTANCE_MARKER: self._spec.instance_id,
                STATE_MARKER: str(self._shared.configuration.state_dir),
            },
            console=self._directory.console,
        )

    async def _live(self) -> None:
        """Follows the machine through its boots, until it ends for good."""
        assert self._boot
        while True:
            watch = asyncio.create_task(self._watch_boot(self._boot))
            try:
                status = await self._boot.ended()
            finally:
                watch.cancel()
            if status != REBOOT:
                break
            self._tell(HostState.BOOTING, "the machine reboots")
            await self._boot.start()
        self._tell(
            HostState.FAILED, f"the machine ended (status {status}); its console ends with: {self._last_lines()}"
        )

    async def _watch_boot(self, boot: Boot) -> None:
        """Reports when SSH answers, and what becomes of the user data."""
        assert self._namespace
        if self._spec.user_data:
            self._user_data = "running"
        while not await asyncio.to_thread(self._namespace.answers, self._spec.address, SSH_PORT, CONNECT_LIMIT_S):
            await asyncio.sleep(POLL_S)
        self._tell(HostState.READY)
        while self._user_data == "running":
            await asyncio.sleep(POLL_S)
            ended = _user_data_of(boot)
            if ended:
                self._user_data = ended
                self._tell(self._state, self._detail)

    async def _follow_faults(self) -> None:
        async with self._following:
            try:
                await asyncio.to_thread(self._faults.follow, self._spec)
            except OSError:
                log.exception("%s: a fault cannot be brought about", self._spec.instance_id)

    def _last_lines(self) -> str:
        try:
            lines = self._directory.console.read_text(errors="replace").splitlines()
        except OSError:
            return "nothing"
        return " / ".join(line.strip() for line in lines[-LINES_SHOWN:] if line.strip()) or "nothing"

    def _tell(self, state: HostState, detail: str = "") -> None:
        self._state, self._detail = state, detail
        self._report(HostReport(self._spec.instance_id, state, detail, self._user_data, self._spec.boot))


def _user_data_of(boot: Boot) -> str | None:
    """Returns how cloud-init ended; None while it runs.

    https://cloudinit.readthedocs.io/en/22.4.2/topics/cli.html: `result.json` is written at the end.
    """
    path = boot.file("run/cloud-init/result.json")
    try:
        errors = json.loads(path.read_text())["v1"]["errors"] if path else None
    except (OSError, ValueError, KeyError):
        return None
    if errors is None:
        return None
    return f"failed ({'; '.join(map(str, errors))})" if errors else "done"
