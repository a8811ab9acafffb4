"""Unix sockets in folders of any depth: an address has room for 107 bytes, so they are reached through the folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def _short_address(path: Path) -> Iterator[str]:
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listen(path: Path) -> socket.socket:
    """A listening socket at `path`, for this user alone; a left-over of a process that is gone is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short_address(path) as address:
        server.bind(address)
    os.chmod(path, 0o600)
    server.listen(16)
    return server


def connect(path: Path) -> socket.socket:
    """A connection to the socket at `path`. Raises OSError when nobody listens."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_address(path) as address:
            client.connect(address)
    except OSError:
        client.close()
        raise
    return client
