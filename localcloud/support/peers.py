"""Which user of this machine is at the other end of a connection."""

from __future__ import annotations

import socket
from pathlib import Path

Address = tuple[str, int]


def user_of_peer(peer: Address, own: Address) -> int | None:
    """Returns the id of the user whose process holds the other end of a TCP connection on this machine.

    Args:
        peer: the IPv4 address and the port of the other end.
        own: the IPv4 address and the port of this end.

    Returns:
        The user's id; None if the connection has ended or comes from elsewhere.
    """
    wanted = (_in_table(peer), _in_table(own))
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            # An IPv6 socket that is connected to an IPv4 address has that address at the end of a longer one.
            if (columns[1][-13:], columns[2][-13:]) == wanted:
                return int(columns[7])
    return None


def _in_table(address: Address) -> str:
    """Returns an address as `/proc/net/tcp` writes it (proc(5)): the bytes in the machine's order, then the port."""
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    return f"{number:08X}:{address[1]:04X}"
