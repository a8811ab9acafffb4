"""One host on an address of loopback."""

from __future__ import annotations

import asyncio

from localcloud.hosts.loopback.credits import open_account
from localcloud.hosts.loopback.disk import Disk
from localcloud.hosts.loopback.environment import environment_of
from localcloud.hosts.loopback.faults import HostFaults
from localcloud.hosts.loopback.ssh_server import SshServer
from localcloud.hosts.loopback.user_data import NONE, run_user_data
from localcloud.hosts.metadata.service import MetadataService
from localcloud.link.configuration import HostsConfiguration
from localcloud.link.instance_dir import InstanceDir
from localcloud.link.report import HostReport, HostState, Report
from localcloud.link.spec import HostSpec
from localcloud.support.processes import INSTANCE_MARKER, end_marked

PROCESS_LIMIT_S = 10.0


class LoopbackHost:
    """An SSH server, a home directory and a metadata service on an instance's private address."""

    def __init__(self, spec: HostSpec, configuration: HostsConfiguration, report: Report) -> None:
        self.configuration = configuration
        self._spec = spec
        self._report = report
        self._state = HostState.BOOTING
        self._detail = ""
        self._user_data = NONE
        self._metadata = MetadataService(spec)
        disk = Disk()
        self._ssh = SshServer(self.directory, self._environment, disk)
        self._faults = HostFaults(spec, configuration.state_dir, self._ssh, disk)
        self._boot_script: asyncio.Task[None] | None = None

    @property
    def spec(self) -> HostSpec:
        """The specification that the host follows now."""
        return self._spec

    @property
    def directory(self) -> InstanceDir:
        """The files of the instance."""
        return self.configuration.instance_dir(self._spec.instance_id)

    def update(self, spec: HostSpec) -> None:
        """Takes over what may change while a host runs: tags, role, the notice of a spot interruption, faults."""
        self._spec = spec
        self._metadata.spec = spec
        if self._state == HostState.READY:
            self._faults.follow(spec)

    async def start(self) -> None:
        """Boots: makes the home, starts the metadata service and the SSH server, then runs the user data."""
        self._tell(HostState.BOOTING)
        settings, address = self.configuration.settings, self._spec.address
        try:
            _prepare_home(self.directory, self._spec.public_key)
            open_account(self.directory.credits, self._spec)
            if self._spec.unreachable:
                self._tell(HostState.BOOTING, "the host stays unreachable, as configured")
                return
            await self._metadata.start(address, settings.metadata_port)
            await self._ssh.start(address, settings.ssh_port, self._spec.hostname)
        except OSError as error:
            await self._metadata.stop()
            self._tell(HostState.FAILED, f"the host cannot boot on {address}: {error}")
            return
        self._boot_script = asyncio.create_task(self._run_user_data())
        self._tell(HostState.READY)

    async def stop(self) -> None:
        """Shuts down: takes no new sessions, ends every process of the host, drops connections."""
        self._tell(HostState.STOPPING)
        await self._faults.end()
        self._ssh.stop_listening()
        await self._end_processes(self.configuration.settings.shutdown_grace_s)
        self._ssh.drop_connections()
        if self._boot_script:
            self._boot_script.cancel()
        await self._metadata.stop()
        # The first search for processes may have missed a session that was being started. The second finds it.
        await self._end_processes(grace_s=0.0)
        self._tell(HostState.GONE)

    async def _end_processes(self, grace_s: float) -> None:
        await asyncio.to_thread(end_marked, INSTANCE_MARKER, self._spec.instance_id, grace_s, PROCESS_LIMIT_S)

    def _environment(self, user: str) -> dict[str, str]:
        return environment_of(self._spec, self.configuration, user)

    async def _run_user_data(self) -> None:
        await run_user_data(self._spec.user_data, self.directory, self._environment("root"), self._tell_user_data)

    def _tell_user_data(self, progress: str) -> None:
        self._user_data = progress
        self._tell(self._state, self._detail)

    def _tell(self, state: HostState, detail: str = "") -> None:
        self._state, self._detail = state, detail
        self._report(HostReport(self._spec.instance_id, state, detail, self._user_data, self._spec.boot))


def _prepare_home(directory: InstanceDir, public_key: str | None) -> None:
    keys = directory.authorized_keys
    keys.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not keys.exists():
        keys.touch(mode=0o600)
        if public_key:
            keys.write_text(public_key.strip() + "\n")
