"""Unix sockets in folders of any depth.

The address of a socket has room for 107 bytes. So a socket is reached through an open descriptor of its folder.
"""

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
    """Returns a listening socket at `path`, for this user alone. A socket that an earlier process left is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short_address(path) as address:
        server.bind(address)
    os.chmod(path, 0o600)
    server.listen(16)
    return server


def connect(path: Path) -> socket.socket:
    """Returns a connection to the socket at `path`. Raises OSError if nobody listens."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_address(path) as address:
            client.connect(address)
    except OSError:
        client.close()
        raise
    return client
