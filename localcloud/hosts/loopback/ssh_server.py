"""The SSH server of one host: who may log in, and what a connection may ask for."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import asyncssh

from localcloud.hosts.loopback.disk import Disk
from localcloud.hosts.loopback.forwarding import open_forwarding
from localcloud.hosts.loopback.session import ServerProcess, run_session
from localcloud.hosts.loopback.sftp import HomeFiles
from localcloud.link.instance_dir import InstanceDir
from localcloud.support.sockets import Address, drop_packets, take_packets

LOGIN_TIMEOUT_S = 30
BACKLOG = 100
DEFAULT_USER = "ec2-user"


@dataclass
class Silence:
    """Whom a server does not answer: all of them because it hangs or is cut off, or those at some addresses."""

    of_all: bool = False
    cut_off: bool = False
    addresses: set[Address] = field(default_factory=set)

    def towards(self, peer: Address) -> bool:
        """Returns whether the client at an address gets no answer."""
        return self.of_all or self.cut_off or peer in self.addresses


class SshServer:
    """Commands, terminals, SFTP, scp and forwarding on one address.

    Args:
        directory: the files of the instance.
        environment: returns the environment of a session from the name of its user.
        disk: whether sessions can write.
    """

    def __init__(self, directory: InstanceDir, environment: Callable[[str], Mapping[str, str]], disk: Disk) -> None:
        self.directory = directory
        self.disk = disk
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self._environment = environment
        self._host_key: asyncssh.SSHKey | None = None
        self._door: socket.socket | None = None
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._silence = Silence()

    async def start(self, address: str, port: int, hostname: str) -> None:
        """Starts to listen.

        Raises:
            OSError: the address or the port cannot be used.
        """
        self._host_key = _host_key(self.directory, hostname)
        self._door = socket.create_server((address, port), backlog=BACKLOG)
        await self.answer_again()

    def hang(self) -> None:
        """Answers nothing more, neither on open connections nor on new ones, which the kernel still accepts."""
        if self._acceptor:
            self._acceptor.close()  # its own copy of the socket that listens; connections wait at the other copy
            self._acceptor = None
        self._silence.of_all = True
        self._keep_silence()

    async def answer_again(self) -> None:
        """Answers, also those who connected meanwhile. Harmless if the server does not hang."""
        if self._acceptor or not self._door:
            return
        self._acceptor = await asyncssh.listen(
            sock=self._door.dup(),
            server_factory=lambda: _Connection(self),
            server_host_keys=[self._host_key],
            process_factory=self._serve,
            sftp_factory=lambda channel: HomeFiles(channel, self.directory.home, self.disk),
            allow_scp=True,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            compression_algs=None,
            gss_host=None,
            login_timeout=LOGIN_TIMEOUT_S,
        )
        self._silence.of_all = False
        self._keep_silence()

    def cut_from(self, addresses: set[Address] | None) -> None:
        """Drops what arrives from addresses on open connections; None means from all, and new ones are not accepted."""
        self._silence.cut_off, self._silence.addresses = addresses is None, addresses or set()
        self._keep_silence()

    def join(self) -> None:
        """Ends what `cut_from` began."""
        self.cut_from(set())

    def _keep_silence(self) -> None:
        if self._door:
            (drop_packets if self._silence.cut_off else take_packets)(self._door)
        for connection in list(self.connections):
            one = connection.get_extra_info("socket")
            if one and one.fileno() >= 0:
                (drop_packets if self._silence.towards(connection.get_extra_info("peername")) else take_packets)(one)

    def stop_listening(self) -> None:
        """Takes no more connections. Those that are open stay. Harmless if the server never listened."""
        if self._acceptor:
            self._acceptor.close()
        if self._door:
            self._door.close()
        self._acceptor = self._door = None

    def drop_connections(self) -> None:
        """Ends all open connections."""
        for connection in list(self.connections):
            connection.abort()

    async def _serve(self, process: ServerProcess) -> None:
        user = process.get_extra_info("username", DEFAULT_USER)
        await run_session(process, self.directory.home, self._environment(user), self.disk.preparation)


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
