"""The warm worker: a process on each node that has imported, built and computed already, and waits to become a rank.

Horovod starts a rank over SSH at the moment when all others stand still and wait for it. Starting Python, importing
MXNet and building a model take seconds; done beforehand, a join costs the handshake alone (and with
`vocabulary.dropout` the reading of the epoch's sentences).
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from trainer.messages.lines import NoLink, StreamLink, parse
from trainer.messages.unix_sockets import listen
from trainer.node.fact import State
from trainer.node.requests import Orders
from trainer.settings.settings import read
from trainer.worker.rank import EXIT_FAILED, Rank, exit_at_once

log = logging.getLogger(__name__)

POLL_S = 0.5
READY = "warm: ready to join"


class Interrupted(Exception):  # noqa: N818 - no error, what was asked for
    """This node is about to go, and no training has been joined."""


class Outdated(Exception):  # noqa: N818 - no error, a reason to begin anew
    """The settings have changed, and no training has been joined."""


class Connection:
    """One attached process: its lines, and the standard output that it has handed over."""

    def __init__(self, client: socket.socket) -> None:
        self.socket = client
        self.link = StreamLink(client.sendall)
        self._received = b""
        self.output: int | None = None

    def read(self) -> list[bytes] | None:
        """The lines that have come, None when the other side has hung up."""
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


def warm(config: Path, overrides: Sequence[str], path: Path, fact_path: Path | None) -> int:
    """Prepare, wait at the socket, become a rank, train to the end, exit. Returns only when there was no training.

    While it waits and `config` changes, it ends with an error, so that its supervisor starts it with what is there.
    """
    written = config.read_bytes()
    settings = read(config, overrides)

    def is_current() -> bool:
        return config.read_bytes() == written

    rank = Rank.of(settings, fact_path)
    rank.orders.listen_to_signals()
    link = _LateLink()
    training = rank.prepare(link, is_elastic=True)
    try:
        if training is None:
            return _refuse(rank, path, is_current)
        connection, message = _wait(rank, path, is_current, {"event": "ready", "identity": training.identity})
    except Interrupted:
        return 0
    except Outdated:
        return EXIT_FAILED
    link.target = connection.link
    os.environ.update({str(name): str(value) for name, value in message["env"].items()})
    if connection.output is not None:
        _write_to(connection.output)
    threading.Thread(target=_listen, args=(connection, rank.orders), daemon=True).start()
    code = rank.train(training, link)
    connection.link.send("exit", code=code)
    exit_at_once(code)


class _LateLink(NoLink):
    """Becomes a real link when the launcher has attached."""

    def __init__(self) -> None:
        self.target: StreamLink | None = None

    def send(self, event: str, **details: object) -> None:
        """Pass it on, once there is somebody."""
        if self.target is not None:
            self.target.send(event, **details)


def _refuse(rank: Rank, path: Path, is_current: Callable[[], bool]) -> int:
    """Stay, and tell everyone who attaches why this node takes no part; ends when the node is interrupted."""
    reason = rank.facts.reason
    try:
        _wait(rank, path, is_current, {"event": "refused", "reason": reason})
    except Interrupted:
        rank.facts.announce(State.FAILED, reason)
        return 0
    return EXIT_FAILED


def _wait(
    rank: Rank, path: Path, is_current: Callable[[], bool], greeting: dict[str, object]
) -> tuple[Connection, dict[str, dict[str, str]]]:
    """Greet everyone who attaches, until one of them sends an environment. Raises Interrupted and Outdated."""
    server = listen(path)
    state, reason = (State.STARTING, READY) if greeting["event"] == "ready" else (State.FAILED, rank.facts.reason)
    rank.facts.announce(state, reason)
    log.info("listening at %s: %s", path, reason)
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ)
    while True:
        ready = selector.select(POLL_S)
        if rank.orders.leave_reason is not None:
            path.unlink(missing_ok=True)
            rank.facts.announce(State.INTERRUPTED, rank.orders.leave_reason)
            raise Interrupted
        if not is_current():
            path.unlink(missing_ok=True)
            log.warning("the settings have changed: ending, to begin with them")
            raise Outdated
        rank.facts.publish(urgent=False)
        for key, _ in ready:
            if key.data is None:
                rank.facts.announce(state, reason)  # whatever an earlier launcher thought of this node
                connection = Connection(server.accept()[0])
                selector.register(connection.socket, selectors.EVENT_READ, connection)
                details = {name: value for name, value in greeting.items() if name != "event"}
                connection.link.send(str(greeting["event"]), **details)
                continue
            lines = key.data.read()
            if lines is None:
                selector.unregister(key.fileobj)
                key.data.socket.close()
                continue
            for message in map(parse, lines):
                if message is not None and "refuse" in message:
                    log.error("%s", message["refuse"])
                    rank.facts.announce(State.FAILED, str(message["refuse"]))
                if message is not None and "env" in message and greeting["event"] == "ready":
                    _dismiss_others(selector, key.data)
                    path.unlink(missing_ok=True)
                    server.close()
                    return key.data, message


def _dismiss_others(selector: selectors.BaseSelector, chosen: Connection) -> None:
    for key in list(selector.get_map().values()):
        if key.data is not None and key.data is not chosen:
            key.data.socket.close()
    selector.close()


def _listen(connection: Connection, orders: Orders) -> None:
    """Take the launcher's orders; when it hangs up there is no training any more, and this node has to end soon."""
    while (lines := connection.read()) is not None:
        for message in map(parse, lines):
            if message is not None and "stop" in message:
                orders.stop(str(message["stop"]))
    orders.leave("the launcher has hung up")


def _write_to(descriptor: int) -> None:
    """Let this process's output go to `descriptor`, and the log to where it went before as well."""
    sys.stdout.flush()
    sys.stderr.flush()
    own = os.fdopen(os.dup(2), "w", buffering=1)
    handler = logging.StreamHandler(own)
    root = logging.getLogger()
    handler.setFormatter(root.handlers[0].formatter if root.handlers else None)
    root.addHandler(handler)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
