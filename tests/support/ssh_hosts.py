"""Hosts for tests of what the controller does over SSH: some answer, and some fall silent in one of several ways."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh

from controller.domain import Instance
from controller.edges.connecting.ssh import SshAccess, end_connections
from tests.support.local_cloud import free_port

MOST_COMMANDS = 64
"""As many commands run at the same time, on all hosts."""
HOSTS_OF_A_BLOCK = 250
"""As many hosts have the first three numbers of their address in common."""


class _Forwarding(asyncssh.SSHServer):
    """A server that connects its clients to other hosts, as OpenSSH's does (`ssh -W`)."""

    def connection_requested(self, *_: object) -> bool:
        return True


class SshHosts:
    """SSH servers on addresses of loopback, each a host that a controller reaches.

    Attributes:
        access: How they are reached.
        homes: By instance id the folder in which a host's commands start.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._port = directory, free_port()
        self._network = f"127.{random.SystemRandom().randrange(64, 250)}"
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(MOST_COMMANDS))
        self._thawed = threading.Event()
        self._held: list[socket.socket] = []
        key = directory / "id"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        self._keys = asyncssh.import_authorized_keys(key.with_suffix(".pub").read_text())
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.homes: dict[str, Path] = {}
        self._home_at: dict[str, Path] = {}
        self.instances: list[Instance] = []
        head = self._instance("i-head", "head")
        self.access = SshAccess("user", self._port, key, directory / "known_hosts", head, False)
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def __enter__(self) -> SshHosts:
        return self

    def __exit__(self, *_: object) -> None:
        end_connections(self.access, [instance.instance_id for instance in self.instances])
        self.thaw()
        self._loop.call_soon_threadsafe(self._loop.stop)
        for connection in self._held:
            connection.close()

    @property
    def head(self) -> Instance:
        return self.instances[0]

    def _instance(self, instance_id: str, role: str = "worker") -> Instance:
        block, number = divmod(len(self.instances), HOSTS_OF_A_BLOCK)
        address = f"{self._network}.{7 + block}.{number + 1}"
        self.instances.append(Instance(instance_id, "c5.large", role, "running", address))
        self.homes[instance_id] = self._directory / instance_id
        self.homes[instance_id].mkdir()
        self._home_at[address] = self.homes[instance_id]
        return self.instances[-1]

    def answering(self, instance_id: str) -> Instance:
        """A host that does what it is told to."""
        return self._serve(self._new(instance_id), self._run)

    def hanging(self, instance_id: str) -> Instance:
        """A host that lets everybody in, and never ends a command."""
        return self._serve(self._new(instance_id), self._hang)

    def flooding(self, instance_id: str) -> Instance:
        """A host that answers every command with as many bytes as the other side takes."""
        return self._serve(self._new(instance_id), self._flood)

    def mute(self, instance_id: str) -> Instance:
        """A host that takes connections and says nothing."""
        instance = self._new(instance_id)
        assert instance.private_ip is not None
        self._held.append(socket.create_server((instance.private_ip, self._port)))
        return instance

    def freeze(self) -> None:
        """Stops every host, as SIGSTOP would: connections are still taken, and nothing is said."""
        self._thawed.clear()
        self._loop.call_soon_threadsafe(self._thawed.wait)

    def thaw(self) -> None:
        """Lets the hosts go on."""
        self._thawed.set()

    def _new(self, instance_id: str) -> Instance:
        return self.head if instance_id == "i-head" else self._instance(instance_id)

    def _serve(self, instance: Instance, handle: object) -> Instance:
        async def listen() -> None:
            await asyncssh.listen(
                instance.private_ip,
                self._port,
                server_factory=_Forwarding,
                server_host_keys=[self._host_key],
                authorized_client_keys=self._keys,
                process_factory=handle,
                encoding=None,
            )

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result(30)
        return instance

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        address = process.get_extra_info("sockname")[0]
        home = self._home_at[address]
        done = await asyncio.to_thread(
            subprocess.run,
            ["/bin/bash", "-c", process.command or ""],
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        process.stdout.write(done.stdout)
        process.stderr.write(done.stderr)
        process.exit(done.returncode)

    async def _hang(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        await process.wait_closed()

    async def _flood(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        with contextlib.suppress(OSError, asyncssh.Error):
            while True:
                process.stdout.write(b"x" * 65_536)
                await process.stdout.drain()


def ssh_processes(access: SshAccess, instance_id: str) -> Iterator[int]:
    """Yields the ids of the processes that speak to a host."""
    wanted = str(access.control_path(instance_id)).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                yield int(entry.name)
