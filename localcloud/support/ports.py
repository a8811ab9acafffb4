"""Which process, if any, listens on a TCP port."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

LISTENING = "0A"  # the state of a listening socket in /proc/net/tcp


class PortTakenError(Exception):
    """Another process listens on an address and a port that localcloud needs."""

    def __init__(self, address: str, port: int, entry: str) -> None:
        holder = holder_of(port)
        by = f" by process {holder[0]} ({holder[1]})" if holder else ""
        super().__init__(
            f"port {port} on {address} is taken{by}. Stop that process, or set another `{entry}` in the configuration"
        )


def check_free(address: str, port: int, entry: str) -> None:
    """Checks that a process can listen on `address:port`.

    Args:
        address: an IPv4 address of this machine.
        port: a TCP port.
        entry: the name of the port in the configuration, for the error's message.

    Raises:
        PortTakenError: another process listens there.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortTakenError(address, port, entry) from None
            raise


def holder_of(port: int) -> tuple[int, str] | None:
    """Returns the id and the command line of the process that listens on a port, or None if no process can be found."""
    inodes = _listening_inodes(port)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            for descriptor in (process / "fd").iterdir():
                if os.readlink(descriptor) in inodes:
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                    return int(process.name), command
        except OSError:  # the process has ended, or belongs to another user
            continue
    return None


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if columns[3] == LISTENING and int(columns[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{columns[9]}]")
    return found
