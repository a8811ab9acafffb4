"""Cutting the connections of a host, as if its network cable were pulled."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from localcloud.hosts.loopback.ssh_server import SshServer
from localcloud.link.spec import HostFault, HostSpec
from localcloud.support.processes import INSTANCE_MARKER, STATE_MARKER, marked
from localcloud.support.sockets import (
    Ends,
    drop_packets,
    socket_of_process,
    sockets_of,
    take_packets,
    tcp_connections,
)


class Partition:
    """One partition: of a host from all others, or from one.

    Packets to the sockets of the host's processes are dropped, and those to the other ends of their connections where
    processes of this cloud hold them. Connections within the host stay.

    A connection that was cut is kept open until the end, so that it can be joined although its process has closed it.
    Its peer learns of that close then. Otherwise it would learn of it only when TCP repeats it, up to a minute later.
    A socket that listens is not kept: its port has to be free when its process has ended.
    """

    def __init__(self, fault: HostFault, spec: HostSpec, state_dir: Path, ssh: SshServer) -> None:
        self._fault = fault
        self._spec = spec
        self._state_dir = state_dir
        self._ssh = ssh
        self._cut: dict[int, socket.socket] = {}
        self._listening: dict[int, tuple[int, int]] = {}

    def enforce(self) -> None:
        """Cuts the connections that there are now. Those that were cut before stay cut."""
        connections = tcp_connections()
        own = sockets_of(marked(INSTANCE_MARKER, self._spec.instance_id))
        others = self._sockets_of_others(own)
        own_ends = {connections[inode] for inode in own if inode in connections}
        other_ends = {connections[inode] for inode in others if inode in connections}
        crossing = {
            inode: holder
            for inode, holder in (own | others).items()
            if inode in connections
            and self._crosses(connections[inode], own_ends if inode in own else other_ends, own_ends, other_ends)
        }
        for inode in set(crossing) - set(self._cut) - set(self._listening):
            with contextlib.suppress(OSError):  # the process, or its socket, may be gone by now
                self._cut_one(inode, crossing[inode], connections[inode])
        self._ssh.cut_from(None if self._fault.other is None else {ends.own for ends in other_ends})

    def end(self) -> None:
        """Joins all connections again."""
        for holder in self._listening.values():
            with contextlib.suppress(OSError), socket_of_process(*holder) as one:
                take_packets(one)
        for one in self._cut.values():
            with contextlib.suppress(OSError), one:
                take_packets(one)
        self._ssh.join()

    def _cut_one(self, inode: int, holder: tuple[int, int], ends: Ends) -> None:
        one = socket_of_process(*holder)
        drop_packets(one)
        if ends.is_listening:
            self._listening[inode] = holder
            one.close()
        else:
            self._cut[inode] = one

    def _sockets_of_others(self, own: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Returns the sockets of the processes that the host is cut off from, as far as they belong to this cloud."""
        other = self._fault.other
        pids = marked(STATE_MARKER, str(self._state_dir)) if other is None else marked(INSTANCE_MARKER, other)
        return {inode: holder for inode, holder in sockets_of(pids).items() if inode not in own}

    def _crosses(self, ends: Ends, same: set[Ends], own: set[Ends], others: set[Ends]) -> bool:
        """Returns whether a socket, held on the side `same`, takes part in a connection that is cut."""
        if ends.is_listening:
            return self._fault.other is None and same is own
        if same is own and self._fault.other is None:
            return ends.reversed not in own and ends.peer[0] != self._spec.address
        address_there = self._fault.other_address if same is own else self._spec.address
        return ends.reversed in (others if same is own else own) or ends.peer[0] == address_there
