"""Pseudo terminals: the keyboard side that a session writes to, and the size of the window."""

from __future__ import annotations

import fcntl
import os
import struct
import termios

END_OF_FILE = b"\x04"  # Ctrl-D


class Keyboard:
    """The side of a pseudo terminal that types. It is written like an `asyncio.StreamWriter`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Types all of `data`."""
        # A terminal's input buffer is small. A write that does not block could be short, and keys would be lost.
        os.set_blocking(self.descriptor, True)
        os.write(self.descriptor, data)
        os.set_blocking(self.descriptor, False)

    async def drain(self) -> None:
        """Does nothing, because `write` has blocked until all was written."""

    def close(self) -> None:
        """Types the end of the input."""
        self.write(END_OF_FILE)


def resize(descriptor: int, columns: int, rows: int) -> None:
    """Sets the size of a terminal's window; 0 stands for 80 columns or 24 rows."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows or 24, columns or 80, 0, 0))


def make_standard_input_the_terminal() -> None:
    """Makes standard input the controlling terminal of this process. A new process calls it before its `exec`."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
