"""TCP sockets of this user's processes: who is connected with whom, and how packets to them are dropped.

Linux lets every user attach a filter to a socket (`SO_ATTACH_FILTER`, socket(7)). A filter that takes nothing drops all
packets that arrive, acknowledgements too. So a connection goes silent as it does when a cable is pulled, and comes back
when the filter is detached. pidfd_getfd(2), of Linux 5.6, gives access to the sockets of another process. The kernel
allows it for processes that this one may trace (ptrace(2)).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
TAKE_NOTHING = struct.pack("@HBBI", 0x06, 0, 0, 0)  # BPF_RET | BPF_K, 0 bytes
PIDFD_GETFD = 438  # the number of the system call on every architecture
SOCKET_LINK = re.compile(r"socket:\[(\d+)\]")

Address = tuple[str, int]


@dataclass(frozen=True)
class Ends:
    """The two ends of a TCP connection. The peer of a socket that listens is 0.0.0.0, port 0."""

    own: Address
    peer: Address

    @property
    def reversed(self) -> Ends:
        """The connection as the other end sees it."""
        return Ends(self.peer, self.own)

    @property
    def is_listening(self) -> bool:
        """Whether this is a socket that waits for connections."""
        return self.peer[1] == 0


@dataclass(frozen=True)
class TcpSocket:
    """A TCP socket of this machine: its inode, the id of the user who holds it, and its ends."""

    inode: int
    user: int
    ends: Ends


def tcp_sockets() -> Iterator[TcpSocket]:
    """Returns all TCP sockets of this machine, as `/proc/net/tcp` shows them (proc(5))."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                columns = line.split()
                ends = Ends(_address(columns[1]), _address(columns[2]))
                yield TcpSocket(int(columns[9]), int(columns[7]), ends)


def tcp_connections() -> dict[int, Ends]:
    """Returns the ends of all TCP sockets of this machine, by their inode."""
    return {one.inode: one.ends for one in tcp_sockets()}


def user_of_peer(peer: Address, own: Address) -> int | None:
    """Returns the id of the user whose process holds the other end of a connection on this machine.

    Args:
        peer: the IPv4 address and the port of the other end.
        own: the IPv4 address and the port of this end.

    Returns:
        The user's id; None if the connection has ended or comes from elsewhere.
    """
    return next((one.user for one in tcp_sockets() if one.ends == Ends(peer, own)), None)


def sockets_of(pids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Returns the sockets that processes hold: by their inode, a process and its file descriptor."""
    found: dict[int, tuple[int, int]] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # the process has ended
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    match = SOCKET_LINK.fullmatch(os.readlink(f"/proc/{pid}/fd/{name}"))
                    if match:
                        found[int(match[1])] = (pid, int(name))
    return found


def socket_of_process(pid: int, descriptor: int) -> socket.socket:
    """Returns a socket that another process holds, as an object of this process.

    Raises:
        OSError: the process or the socket is gone, or this process may not trace that one.
    """
    handle = os.pidfd_open(pid)
    try:
        copied = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, handle, descriptor, 0)
    finally:
        os.close(handle)
    if copied < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.socket(fileno=copied)


def drop_packets(one: socket.socket) -> None:
    """Drops all packets that arrive for a socket from now on. Harmless if they are dropped already."""
    program = ctypes.create_string_buffer(TAKE_NOTHING)
    one.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(program)))


def take_packets(one: socket.socket) -> None:
    """Takes packets again. Harmless if none are dropped."""
    with contextlib.suppress(FileNotFoundError):
        one.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def _address(text: str) -> Address:
    """Returns an address of `/proc/net/tcp`. An IPv4 address in an IPv6 one is at its end."""
    number, _, port = text.partition(":")
    return socket.inet_ntoa(int(number[-8:], 16).to_bytes(4, "little")), int(port, 16)
