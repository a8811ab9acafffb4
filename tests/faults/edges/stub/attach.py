"""What the launcher starts on a node over SSH: lines go from it to the node's worker, and back."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from pathlib import Path

WAIT_S = 120.0
STDIN, STDOUT = 0, 1


def attach(path: Path) -> int:
    """Connects standard input and output with the worker at `path`, which is waited for. Returns the exit code."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(path))
            except OSError:
                if select.select([STDIN], [], [], 0.1)[0]:
                    return 1  # the launcher has hung up
                continue
            threading.Thread(target=_forward, args=(connection,), daemon=True).start()
            while data := connection.recv(65536):
                os.write(STDOUT, data)
            return 0
    return 1


def _forward(connection: socket.socket) -> None:
    try:
        while data := os.read(STDIN, 65536):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return
