"""The network namespace of a machine, and sockets within it that this process serves."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path

from localcloud.hosts.machine.tools import MachineError, run, succeeds

CLONE_NEWNET = 0x40000000
NAMESPACES = Path("/run/netns")
BACKLOG = 128


def is_folder_mounted() -> bool:
    """Tells whether the folder of namespaces is mounted, also where it is mounted over itself on one file system."""
    return any(line.split()[4] == str(NAMESPACES) for line in Path("/proc/self/mountinfo").read_text().splitlines())


@dataclass(frozen=True)
class Door:
    """An address and a port at which this process serves a machine, within the machine's namespace."""

    address: str
    port: int
    kind: socket.SocketKind = socket.SOCK_STREAM


@dataclass(frozen=True)
class Namespace:
    """A network namespace by its name."""

    name: str

    @property
    def path(self) -> Path:
        """The file that stands for the namespace."""
        return NAMESPACES / self.name

    def make(self, own_addresses: list[str]) -> None:
        """Makes the namespace, with addresses on its loopback interface.

        Raises:
            MachineError: it cannot be made.
        """
        run("ip", "netns", "add", self.name)
        lines = ["link set lo up", *(f"addr add {address}/32 dev lo" for address in own_addresses)]
        run("ip", "-n", self.name, "-batch", "-", text="\n".join(lines))

    def remove(self) -> None:
        """Removes the namespace. It is gone when its last process is. Harmless if there is none."""
        succeeds("ip", "netns", "del", self.name)

    def open(self, doors: list[Door]) -> list[socket.socket]:
        """Returns sockets within the namespace, which listen where they are of a stream.

        A thread enters the namespace for that, and ends. A socket stays in the namespace in which it was made.

        Raises:
            MachineError: the namespace cannot be entered, or an address cannot be used.
        """
        opened: list[socket.socket] = []
        failures: list[OSError] = []

        def enter() -> None:
            try:
                self._enter()
                for door in doors:
                    opened.append(_open(door))
            except OSError as error:
                failures.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failures:
            for one in opened:
                one.close()
            raise MachineError(f"the network namespace {self.name} cannot be served: {failures[0]}")
        return opened

    def answers(self, address: str, port: int, limit_s: float) -> bool:
        """Returns whether somebody accepts connections at an address, as seen from within."""
        found: list[bool] = []

        def enter() -> None:
            try:
                self._enter()
                socket.create_connection((address, port), limit_s).close()
            except OSError:
                return
            found.append(True)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return bool(found)

    def _enter(self) -> None:
        """Moves this thread into the namespace (setns(2)). The thread must end there."""
        handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(handle)


def _open(door: Door) -> socket.socket:
    one = socket.socket(socket.AF_INET, door.kind)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((door.address, door.port))
        if door.kind == socket.SOCK_STREAM:
            one.listen(BACKLOG)
        one.setblocking(False)
    except OSError:
        one.close()
        raise
    return one
