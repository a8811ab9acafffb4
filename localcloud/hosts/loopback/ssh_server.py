"""The SSH server of one host: who may log in, and what a connection may ask for."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping

import asyncssh

from localcloud.hosts.loopback.forwarding import open_forwarding
from localcloud.hosts.loopback.session import ServerProcess, run_session
from localcloud.hosts.loopback.sftp import HomeFiles
from localcloud.link.instance_dir import InstanceDir

LOGIN_TIMEOUT_S = 30
DEFAULT_USER = "ec2-user"


class SshServer:
    """Commands, terminals, SFTP, scp and forwarding on one address.

    Args:
        directory: the files of the instance.
        environment: returns the environment of a session from the name of its user.
    """

    def __init__(self, directory: InstanceDir, environment: Callable[[str], Mapping[str, str]]) -> None:
        self.directory = directory
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self._environment = environment
        self._listener: asyncssh.SSHAcceptor | None = None

    async def start(self, address: str, port: int, hostname: str) -> None:
        """Starts to listen.

        Raises:
            OSError: the address or the port cannot be used.
        """
        self._listener = await asyncssh.listen(
            address,
            port,
            reuse_address=True,  # a restarted host takes its port again while old connections are in TIME_WAIT
            server_factory=lambda: _Connection(self),
            server_host_keys=[_host_key(self.directory, hostname)],
            process_factory=self._serve,
            sftp_factory=lambda channel: HomeFiles(channel, self.directory.home),
            allow_scp=True,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            compression_algs=None,
            gss_host=None,
            login_timeout=LOGIN_TIMEOUT_S,
        )

    def stop_listening(self) -> None:
        """Takes no more connections. Those that are open stay. Harmless if the server never listened."""
        if self._listener:
            self._listener.close()

    def drop_connections(self) -> None:
        """Ends all open connections."""
        for connection in list(self.connections):
            connection.abort()

    async def _serve(self, process: ServerProcess) -> None:
        user = process.get_extra_info("username", DEFAULT_USER)
        await run_session(process, self.directory.home, self._environment(user))


class _Connection(asyncssh.SSHServer):
    """One connection. Any user name may log in with a key that is in the host's `authorized_keys` at that moment."""

    def __init__(self, server: SshServer) -> None:
        self.server = server
        self.connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self.server.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection:
            self.server.connections.discard(self.connection)

    def begin_auth(self, username: str) -> bool:
        assert self.connection
        # The file is read at each login, because processes on the host may add keys to it.
        with contextlib.suppress(OSError, ValueError):
            self.connection.set_authorized_keys(str(self.server.directory.authorized_keys))
        return True

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        return open_forwarding(dest_host, dest_port)

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        return False


def _host_key(directory: InstanceDir, hostname: str) -> asyncssh.SSHKey:
    """Returns the host's own key, which is made at the first boot."""
    path = directory.host_key
    if path.exists():
        return asyncssh.read_private_key(path)
    key = asyncssh.generate_private_key("ssh-ed25519", comment=hostname)
    path.touch(mode=0o600)
    key.write_private_key(path)
    key.write_public_key(directory.public_host_key)
    return key
