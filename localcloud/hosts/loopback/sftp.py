"""SFTP and scp, with relative paths that start in the host's home."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import asyncssh

from localcloud.hosts.loopback.disk import Disk


class HomeFiles(asyncssh.SFTPServer):
    """The files of this machine, as a session on the host names them."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], home: Path, disk: Disk) -> None:
        super().__init__(channel)
        self.home = home
        self.disk = disk

    def map_path(self, path: bytes) -> bytes:
        """Returns the path on this machine. `~` and relative paths start in the home."""
        text = path.decode(errors="surrogateescape")
        if text == "~" or text.startswith("~/"):
            text = text[2:]
        return str(self.home / text).encode(errors="surrogateescape")

    def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Writes to a file, unless the disk is full."""
        if self.disk.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(super().write(file_obj, offset, data))  # type: ignore[arg-type]

    def realpath(self, path: bytes) -> bytes:
        """Returns the absolute path without symbolic links."""
        return os.path.realpath(self.map_path(path))

    def exit(self) -> None:
        """Sends the exit status 0. asyncssh sends none, and scp fails without one."""
        with contextlib.suppress(OSError):
            self.channel.exit(0)
