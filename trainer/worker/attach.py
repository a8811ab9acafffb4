"""What the launcher starts on a node over SSH: the connection between it and the node's warm worker.

Standard input carries the launcher's lines to the worker, and standard error carries the worker's lines back. Both are
JSON. Between them go this node's reports: every two seconds a copy of its iteration fact, and its time. The worker
writes its output directly to the standard output of this process, which is handed to it over the socket. The worker's
environment is the node's own, and what the launcher sends.
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
REPORT_S = 2.0
LONGEST_FACT_BYTES = 8192
"""A fact that is longer is not sent. Whoever wants it asks this node."""
STDIN, STDOUT, STDERR = 0, 1, 2
_writing = threading.Lock()


def attach(path: Path, wait_s: float = 120.0, fact_file: Path | None = None) -> int:
    """Connects with the warm worker at `path`, which is waited for. Returns the worker's exit code.

    Args:
        path: The worker's socket.
        wait_s: How long the worker is waited for.
        fact_file: The node's iteration fact, which is reported to the launcher; None: nothing is reported.
    """
    connection = _connect(path, wait_s)
    if connection is None:
        return _complain(f"no warm worker listens at {path}")
    with connection:
        socket.send_fds(connection, [b"\n"], [STDOUT])
        threading.Thread(target=_forward, args=(connection,), daemon=True).start()
        if fact_file is not None:
            threading.Thread(target=_report, args=(fact_file,), daemon=True).start()
        for line in connection.makefile("rb"):
            message = parse(line)
            if message is not None and message.get("event") == "exit":
                return int(message["code"])
            _tell(line)
    return _complain("the worker has ended and has not said why")


def _connect(path: Path, wait_s: float) -> socket.socket | None:
    """Returns a connection, or None where there is none in time or the launcher has hung up meanwhile."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return connect(path)
        except OSError:
            # The launcher sends nothing before the worker does: a standard input that can be read has ended.
            has_hung_up, _, _ = select.select([STDIN], [], [], RETRY_S)
            if has_hung_up or time.monotonic() > deadline:
                return None


def _forward(connection: socket.socket) -> None:
    """Passes the launcher's lines on. When the launcher hangs up, this end does too, and the worker ends.

    Standard input is read without Python's buffer. Its lock would abort this process where the process ends first.
    """
    try:
        while data := os.read(STDIN, 65536):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _complain(reason: str) -> int:
    _tell(json.dumps({"event": "lost", "reason": reason}).encode() + b"\n")
    return EXIT_LOST


def _report(fact_file: Path) -> None:
    """Sends this node's fact and time again and again, until the launcher has hung up."""
    while True:
        try:
            with open(fact_file, "rb") as file:
                fact = file.read(LONGEST_FACT_BYTES + 1)
        except OSError:
            fact = b""
        if 0 < len(fact) <= LONGEST_FACT_BYTES:
            report = {"event": "report", "clock": time.time(), "fact": fact.decode(errors="replace")}
            try:
                _tell(json.dumps(report).encode() + b"\n")
            except OSError:
                return
        time.sleep(REPORT_S)


def _tell(line: bytes) -> None:
    """Writes a whole line to the launcher, from any thread."""
    with _writing:
        while line:
            line = line[os.write(STDERR, line) :]
