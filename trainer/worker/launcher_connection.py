"""One process that has attached to the warm worker, and through it a launcher."""

from __future__ import annotations

import socket

from trainer.messages.lines import StreamMessenger


class LauncherConnection:
    """The lines that a launcher sends, and the standard output that it has handed over."""

    def __init__(self, client: socket.socket) -> None:
        self.socket = client
        self.messenger = StreamMessenger(client.sendall)
        self.output: int | None = None
        """A file descriptor that the worker is to write its output to."""
        self._received = b""

    def read(self) -> list[bytes] | None:
        """Returns the lines that have come, or None where the other side has hung up."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 1)
        except OSError:
            return None
        if descriptors:
            self.output = descriptors[0]
        if not data:
            return None
        *lines, self._received = (self._received + data).split(b"\n")
        return lines
