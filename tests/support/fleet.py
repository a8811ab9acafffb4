"""Several hosts on this machine for the trainer's tests and benches: an SSH server, a home and a warm worker each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncssh
import yaml

ROOT = Path(__file__).parents[2]
SOCKET = "run/warm.sock"


def wait_until(condition: Callable[[], Any], limit_s: float, what: str) -> Any:
    """Returns the first true value of `condition`. Raises AssertionError after `limit_s`."""
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {limit_s} s in vain: {what}"
        time.sleep(0.05)
    return value


class Host:
    """One host. `Fleet.tend` starts its worker again after an error, as a supervisor would do."""

    def __init__(self, address: str, home: Path, config: Path, speed: float | None) -> None:
        self.address, self.home, self.config = address, home, config
        home.mkdir(parents=True)
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "HOROVOD_GLOO_IFACE": "lo",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9",  # nobody is there, and says so at once
        }
        if speed is not None:
            self.environment["CENTAVO_EMULATED_SPEED"] = str(speed)
        self.command = [sys.executable, "-m", "trainer"]
        self.worker: subprocess.Popen[bytes] | None = None

    def start_worker(self) -> None:
        """Starts the warm worker."""
        with open(self.home / "warm.log", "ab") as log:
            self.worker = subprocess.Popen(
                [*self.command, "warm", "--socket", SOCKET, "--config", str(self.config)],
                cwd=self.home,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    @property
    def fact_file(self) -> Path:
        """The file of the iteration fact."""
        return self.home / "facts.d" / "iteration.fact"

    def fact(self) -> dict[str, Any]:
        """Returns the host's iteration fact, empty while there is none."""
        try:
            return dict(json.loads(self.fact_file.read_text()))
        except FileNotFoundError:
            return {}

    @property
    def is_warm(self) -> bool:
        return "ready to join" in (self.fact().get("reason") or "") and (self.home / SOCKET).exists()


class Fleet:
    """Hosts 127.NET.1.x, a hosts file, and a launcher."""

    def __init__(self, directory: Path, training: dict[str, Any], net: int = 31) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.config = directory / "training.yml"
        training = {"storage": str(directory / "storage"), "cache": str(directory / "cache"), **training}
        self.config.write_text(yaml.safe_dump(training))
        self.hosts: dict[str, Host] = {}
        self.hosts_file = directory / "hosts"
        self.results = directory / "results"
        self.launcher: subprocess.Popen[bytes] | None = None
        self._net = net
        self._key = directory / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._key)], check=True)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._servers: list[asyncssh.SSHAcceptor] = []
        self.port = 0

    def add(self, number: int, speed: float | None = None, warm: bool = True, **sections: Any) -> Host:
        """Adds a host, whose worker begins to warm up. `sections` take the place of those in training.yml."""
        address = f"127.{self._net}.1.{number}"
        config = self.config
        if sections:
            config = self.directory / f"training-{number}.yml"
            config.write_text(yaml.safe_dump(yaml.safe_load(self.config.read_text()) | sections))
        host = Host(address, self.directory / "homes" / address, config, speed)
        self.hosts[address] = host
        asyncio.run_coroutine_threadsafe(self._serve(host), self._loop).result(20)
        if warm:
            host.start_worker()
        return host

    def write_hosts(self, hosts: Sequence[Host]) -> None:
        """Lets these, and no others, be the training's hosts."""
        temporary = self.hosts_file.with_suffix(".new")
        temporary.write_text("".join(f"{host.address}:1\n" for host in hosts))
        temporary.replace(self.hosts_file)

    def launch(
        self, min_np: int = 1, environment: Mapping[str, str] | None = None, start_patience_s: float = 600
    ) -> subprocess.Popen[bytes]:
        """Starts the launcher, with these variables beside its own."""
        own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(self.directory)}
        with open(self.directory / "launch.log", "ab") as log:
            self.launcher = subprocess.Popen(
                [
                    *(sys.executable, "-m", "trainer", "launch", "--config", str(self.config)),
                    *("--hosts-file", str(self.hosts_file), "--results", str(self.results)),
                    *("--network-interface", "lo", "--ssh-port", str(self.port), "--ssh-identity-file", str(self._key)),
                    *("--min-np", str(min_np), "--start-patience", str(start_patience_s)),
                    *("--attach-command", f"{sys.executable} -m trainer attach --socket {SOCKET} --fact-path facts.d"),
                ],
                cwd=self.directory,
                env={**own, **(environment or {})},
                stdout=log,
                stderr=log,
            )
        return self.launcher

    def tend(self) -> None:
        """Starts the workers again that ended with an error."""
        for host in self.hosts.values():
            if host.worker is not None and host.worker.poll() not in (None, 0):
                host.start_worker()

    def step(self) -> int:
        """Returns the highest step in any fact."""
        return max((host.fact().get("step") or 0 for host in self.hosts.values()), default=0)

    def log(self) -> str:
        """Returns what the launcher and the ranks have logged."""
        return (self.directory / "launch.log").read_text()

    def scores(self) -> dict[str, Any]:
        """Returns the scores.json of the results."""
        return dict(json.loads((self.results / "scores.json").read_text()))

    def close(self) -> None:
        """Ends every process."""
        processes = [self.launcher, *(host.worker for host in self.hosts.values())]
        for process in processes:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
        asyncio.run_coroutine_threadsafe(self._close_servers(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    async def _serve(self, host: Host) -> None:
        async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
            child = await asyncio.create_subprocess_shell(
                process.command or "bash",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=host.home,
                env=host.environment,
                executable="/bin/bash",
            )
            await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
            code = await child.wait()
            with contextlib.suppress(OSError):
                process.exit(code)
            await process.wait_closed()

        server = await asyncssh.listen(
            host.address,
            self.port,
            server_host_keys=[str(self._key)],
            authorized_client_keys=f"{self._key}.pub",
            process_factory=run,
            encoding=None,
        )
        self._servers.append(server)
        self.port = server.sockets[0].getsockname()[1]

    async def _close_servers(self) -> None:
        for server in self._servers:
            server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
