"""What the launcher starts on a node over SSH: the string between it and the node's warm worker.

Standard input carries the launcher's lines to the worker and standard error the worker's lines back, JSON both; the
worker writes its output to this process's standard output itself, which it is handed over the socket. Only what the
launcher sends becomes the worker's environment: all else of a node comes from the node.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from pathlib import Path

from trainer.messages.lines import parse
from trainer.messages.unix_sockets import connect

EXIT_LOST = 1
RETRY_S = 0.2
STDIN, STDOUT, STDERR = 0, 1, 2


def attach(path: Path, wait_s: float = 120.0) -> int:
    """Tie this process to the warm worker at `path`, which is waited for; its exit code."""
    connection = _connect(path, wait_s)
    if connection is None:
        return _complain(f"no warm worker listens at {path}")
    with connection:
        socket.send_fds(connection, [b"\n"], [STDOUT])
        threading.Thread(target=_forward, args=(connection,), daemon=True).start()
        for line in connection.makefile("rb"):
            message = parse(line)
            if message is not None and message.get("event") == "exit":
                return int(message["code"])
            os.write(STDERR, line)
    return _complain("the worker is gone without a word")


def _connect(path: Path, wait_s: float) -> socket.socket | None:
    """A connection, None when there is none in time or the launcher has hung up meanwhile."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return connect(path)
        except OSError:
            # The launcher says nothing before the worker has: a readable standard input has come to its end.
            has_hung_up, _, _ = select.select([STDIN], [], [], RETRY_S)
            if has_hung_up or time.monotonic() > deadline:
                return None


def _forward(connection: socket.socket) -> None:
    """Pass the launcher's lines on; when it hangs up, so do we, and the worker ends.

    Standard input is read without Python's buffer, whose lock would abort this process where it ends first.
    """
    try:
        while data := os.read(STDIN, 65536):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _complain(reason: str) -> int:
    os.write(STDERR, json.dumps({"event": "lost", "reason": reason}).encode() + b"\n")
    return EXIT_LOST
