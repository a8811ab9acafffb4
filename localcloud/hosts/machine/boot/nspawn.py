"""A machine that runs: systemd-nspawn boots Debian in the machine's namespace and control groups."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REBOOT = 133
"""systemd-nspawn ends with this status when the machine asked for a reboot."""

HALT_LIMIT_S = 10.0
ENTER = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 1; shift; done; shift; exec "$@"'


@dataclass(frozen=True)
class Machine:
    """What a machine consists of.

    Attributes:
        instance_id: the machine's name.
        hostname: the host's name, without its domain.
        root: the root file system.
        namespace: the file that stands for the network namespace.
        entrances: the files by which a process enters the control groups.
        marker: variables that the first process carries. They tell whose it is.
        console: the file to which the machine's console is written.
    """

    instance_id: str
    hostname: str
    root: Path
    namespace: Path
    entrances: list[Path]
    marker: Mapping[str, str]
    console: Path


class Boot:
    """One start of a machine, up to its end."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts the machine. It boots from now on.

        Raises:
            OSError: the program cannot be started, or the console cannot be written.
        """
        with self._machine.console.open("ab") as console:
            self._process = await asyncio.create_subprocess_exec(
                *command(self._machine), stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console,
                start_new_session=True, env={**os.environ, **self._machine.marker},
            )  # fmt: skip

    async def ended(self) -> int:
        """Waits for the machine's end, and returns the status of systemd-nspawn."""
        assert self._process
        return await self._process.wait()

    async def halt(self) -> None:
        """Shuts the machine down. One that does not end in time loses its power."""
        if self._process and self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), HALT_LIMIT_S)
            await self.power_off()

    async def power_off(self) -> None:
        """Ends the machine abruptly. Its first process is killed: killing systemd-nspawn would leave the machine."""
        if self._process and self._process.returncode is None:
            for pid in (*_children(self._process.pid), self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await self._process.wait()

    def file(self, path: str) -> Path | None:
        """Returns a file as the machine sees it, with what is mounted within; None if the machine does not run."""
        if self._process is None or self._process.returncode is not None:
            return None
        first = next(iter(_children(self._process.pid)), None)
        return None if first is None else Path(f"/proc/{first}/root/{path}")


def command(machine: Machine) -> list[str]:
    """Returns the command that boots a machine.

    It enters the control groups first. systemd-nspawn does not register the machine (`--register=no --keep-unit`),
    because this machine's first process need not be systemd.
    """
    return [
        "/bin/sh", "-c", ENTER, "enter", *map(str, machine.entrances), "--",
        "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--console=pipe",
        f"--directory={machine.root}", f"--network-namespace-path={machine.namespace}",
        f"--machine={machine.instance_id}", f"--hostname={machine.hostname}",
        "--link-journal=no", "--resolv-conf=off", "--timezone=off",
        *(f"--setenv={name}={value}" for name, value in machine.marker.items()),
    ]  # fmt: skip


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
