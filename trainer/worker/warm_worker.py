"""The warm worker: a process on each node that has prepared a training and waits to become a rank of it.

Horovod starts a rank over SSH at a moment when all other ranks wait for it. Starting Python, importing MXNet and
building a model take seconds. Where that is done before, a join costs the handshake alone. (With `vocabulary.dropout`,
it also costs the reading of the epoch's sentences.)
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from trainer.messages.lines import Messenger, Silent, parse
from trainer.node.fact import State
from trainer.node.requests import Requests
from trainer.settings.file import read
from trainer.worker.launcher_connection import LauncherConnection
from trainer.worker.rank import EXIT_FAILED, Rank, exit_at_once
from trainer.worker.reception import Greeting, Interrupted, Outdated, Reception


def warm(config: Path, overrides: Sequence[str], path: Path, fact_path: Path | None) -> int:
    """Prepares a training, waits at the socket `path`, becomes a rank, trains to the end, and exits.

    A worker that waits ends with an error when `config` changes: its supervisor then starts it with the new settings.

    Returns:
        The exit code, if there was no training. After a training, the process ends here.
    """
    written = config.read_bytes()
    settings = read(config, overrides)
    rank = Rank.of(settings, fact_path)
    rank.requests.leave_on_signals()
    messenger = _LateMessenger()
    training = rank.prepare(messenger, is_elastic=True)
    reason = rank.facts.reason
    greeting = Greeting.refused(reason) if training is None else Greeting.ready(training.prepared.digest)
    try:
        connection, message = Reception(rank, path, lambda: config.read_bytes() == written, greeting).wait()
    except Interrupted:
        if training is None:
            rank.facts.announce(State.FAILED, reason)
        return 0
    except Outdated:
        return EXIT_FAILED
    assert training is not None, "a worker that takes no part is made no rank"
    messenger.target = connection.messenger
    os.environ.update({str(name): str(value) for name, value in message["env"].items()})
    if connection.output is not None:
        _write_to(connection.output)
    threading.Thread(target=_listen, args=(connection, rank.requests), daemon=True).start()
    code = rank.train(training, messenger)
    connection.messenger.send("exit", code=code)
    exit_at_once(code)


class _LateMessenger:
    """Passes messages on once a launcher has attached. Before, nobody listens."""

    def __init__(self) -> None:
        self.target: Messenger = Silent()

    def send(self, event: str, **details: object) -> None:
        """Passes a message on."""
        self.target.send(event, **details)


def _listen(connection: LauncherConnection, requests: Requests) -> None:
    """Takes the launcher's requests. When it hangs up, the training is over and this rank leaves soon."""
    while (lines := connection.read()) is not None:
        for message in map(parse, lines):
            if message is not None and "stop" in message:
                requests.stop(str(message["stop"]))
    requests.leave("the launcher has hung up")


def _write_to(descriptor: int) -> None:
    """Lets the output of this process go to `descriptor`. The log also goes to where it went before."""
    sys.stdout.flush()
    sys.stderr.flush()
    own = os.fdopen(os.dup(2), "w", buffering=1)
    handler = logging.StreamHandler(own)
    root = logging.getLogger()
    handler.setFormatter(root.handlers[0].formatter if root.handlers else None)
    root.addHandler(handler)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
