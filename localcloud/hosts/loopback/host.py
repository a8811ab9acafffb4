"""One host: an SSH server, SFTP, a home and a metadata service on an instance's private address."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from localcloud.hosts.loopback.passage import open_passage
from localcloud.hosts.loopback.session import ServerProcess, run_session
from localcloud.hosts.metadata.service import MetadataService
from localcloud.link.spec import BOOTING, FAILED, GONE, READY, STOPPING, HostReport, HostSpec
from localcloud.settings import Settings
from localcloud.support.processes import INSTANCE_MARKER, STATE_MARKER, end_marked

LOGIN_TIMEOUT_S = 30
PROCESS_LIMIT_S = 10.0
FIRST_BOOT_MARK = "booted"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@dataclass(frozen=True)
class Site:
    """What all hosts of one localcloud have in common."""

    settings: Settings
    state_dir: Path

    def instance_dir(self, instance_id: str) -> Path:
        """Where an instance keeps its home, console log and host key."""
        return self.state_dir / "instances" / instance_id


class Host:
    """A running host. `start` and `stop` are called once each; `report` is called at every change of state."""

    def __init__(self, spec: HostSpec, site: Site, report: Callable[[HostReport], None]) -> None:
        self.spec = spec
        self.site = site
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self._report = report
        self._state = BOOTING
        self._detail = ""
        self._user_data = "none"
        self._metadata = MetadataService(spec)
        self._listener: asyncssh.SSHAcceptor | None = None
        self._boot_script: asyncio.Task[None] | None = None

    @property
    def directory(self) -> Path:
        """This instance's directory."""
        return self.site.instance_dir(self.spec.instance_id)

    @property
    def home(self) -> Path:
        """Where sessions start."""
        return self.directory / "home"

    def update(self, spec: HostSpec) -> None:
        """Take over what may change while a host runs: tags, spot notice, role."""
        self.spec = spec
        self._metadata.spec = spec

    def environment(self, user: str) -> dict[str, str]:
        """The environment in which a session of `user` starts."""
        settings = self.site.settings
        variables = {
            "HOME": str(self.home),
            "PATH": os.environ.get("PATH", os.defpath),
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "OMP_NUM_THREADS": "1",
            "AWS_ENDPOINT_URL": settings.endpoint,
            "AWS_REGION": settings.region,
            "AWS_DEFAULT_REGION": settings.region,
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{self.spec.address}:{settings.metadata_port}",
            **CREDENTIALS,
            INSTANCE_MARKER: self.spec.instance_id,
            STATE_MARKER: str(self.site.state_dir),
        }
        if self.spec.speed is not None:
            variables["CENTAVO_EMULATED_SPEED"] = f"{self.spec.speed:g}"
        return variables

    async def start(self) -> None:
        """Boot: home, keys, metadata service, SSH server, user data. Reports booting, then ready or failed."""
        self._tell(BOOTING)
        try:
            self._prepare_home()
            if self.spec.unreachable:
                self._tell(BOOTING, "was told to stay unreachable")
                return
            await self._metadata.start(self.spec.address, self.site.settings.metadata_port)
            self._listener = await self._listen()
        except OSError as error:
            await self._metadata.stop()
            self._tell(FAILED, f"cannot boot on {self.spec.address}: {error}")
            return
        self._boot_script = asyncio.create_task(self._run_user_data())
        self._tell(READY)

    async def stop(self) -> None:
        """Shut down: no new sessions, every process of this host ended, connections dropped."""
        self._tell(STOPPING)
        if self._listener:
            self._listener.close()
        grace_s = self.site.settings.shutdown_grace_s
        await asyncio.to_thread(end_marked, INSTANCE_MARKER, self.spec.instance_id, grace_s, PROCESS_LIMIT_S)
        for connection in list(self.connections):
            connection.abort()
        if self._boot_script:
            self._boot_script.cancel()
        await self._metadata.stop()
        # A session that was being started during the first sweep is found by the second.
        await asyncio.to_thread(end_marked, INSTANCE_MARKER, self.spec.instance_id, 0.0, PROCESS_LIMIT_S)
        self._tell(GONE)

    def _tell(self, state: str, detail: str = "") -> None:
        self._state, self._detail = state, detail
        self._report(HostReport(self.spec.instance_id, state, detail, self._user_data, self.spec.boot))

    def _prepare_home(self) -> None:
        ssh = self.home / ".ssh"
        ssh.mkdir(parents=True, exist_ok=True, mode=0o700)
        keys = ssh / "authorized_keys"
        if not keys.exists():
            keys.touch(mode=0o600)
            if self.spec.public_key:
                keys.write_text(self.spec.public_key.strip() + "\n")

    def _host_key(self) -> asyncssh.SSHKey:
        path = self.directory / "ssh_host_ed25519_key"
        if path.exists():
            return asyncssh.read_private_key(path)
        key = asyncssh.generate_private_key("ssh-ed25519", comment=self.spec.hostname)
        path.touch(mode=0o600)
        key.write_private_key(path)
        key.write_public_key(path.with_suffix(".pub"))
        return key

    async def _listen(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            self.spec.address,
            self.site.settings.ssh_port,
            server_factory=lambda: _Server(self),
            server_host_keys=[self._host_key()],
            process_factory=self._serve,
            sftp_factory=lambda channel: _Files(channel, self.home),
            allow_scp=True,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            compression_algs=None,
            gss_host=None,
            login_timeout=LOGIN_TIMEOUT_S,
        )

    async def _serve(self, process: ServerProcess) -> None:
        user = process.get_extra_info("username", "ec2-user")
        await run_session(process, self.home, self.environment(user))

    async def _run_user_data(self) -> None:
        """Run the user data at the first boot only, as cloud-init does, its output in console.log."""
        mark = self.directory / FIRST_BOOT_MARK
        if mark.exists() or not self.spec.user_data:
            return
        mark.touch()
        script = self.directory / "user-data"
        script.write_text(self.spec.user_data)
        script.chmod(0o700)
        with (self.directory / "console.log").open("ab") as console:
            if not self.spec.user_data.startswith("#!"):
                console.write(b"user data has no #! line: it is not run\n")
                self._user_data = "ignored"
            else:
                self._user_data = "running"
                self._tell(self._state, self._detail)
                status = await self._run_script(script, console.fileno())
                self._user_data = "done" if status == 0 else f"failed (exit {status})"
                console.write(f"user data ended with exit status {status}\n".encode())
        self._tell(self._state, self._detail)

    async def _run_script(self, script: Path, console: int) -> int:
        child = await asyncio.create_subprocess_exec(
            "/bin/bash", str(script), cwd=self.home, env=self.environment("root"), start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console,
        )  # fmt: skip
        return await child.wait()


class _Server(asyncssh.SSHServer):
    """Who may come in: any user name with a key that is in the host's authorized_keys at that moment."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self.host.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection:
            self.host.connections.discard(self.connection)

    def begin_auth(self, username: str) -> bool:
        assert self.connection
        # Read anew each time: what runs on the host may add keys, as on a real one.
        with contextlib.suppress(OSError, ValueError):
            self.connection.set_authorized_keys(str(self.host.home / ".ssh" / "authorized_keys"))
        return True

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        return open_passage(dest_host, dest_port)

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        return False


class _Files(asyncssh.SFTPServer):
    """SFTP and scp whose relative paths start in the host's home."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], home: Path) -> None:
        super().__init__(channel)
        self.home = home

    def map_path(self, path: bytes) -> bytes:
        text = path.decode(errors="surrogateescape")
        if text == "~" or text.startswith("~/"):
            text = text[2:]
        return str(self.home / text).encode(errors="surrogateescape")

    def realpath(self, path: bytes) -> bytes:
        return os.path.realpath(self.map_path(path))

    def exit(self) -> None:
        # asyncssh sends none itself, and scp fails without.
        with contextlib.suppress(OSError):
            self.channel.exit(0)
