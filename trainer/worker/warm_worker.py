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
import time
from collections.abc import Callable
from pathlib import Path

from trainer.elastic import host_updates
from trainer.elastic.rendezvous import Rendezvous
from trainer.messages.lines import Messenger, Silent, parse
from trainer.node.fact import State
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Metadata
from trainer.settings.training import Settings
from trainer.training.loop import Training
from trainer.worker.launcher_connection import LauncherConnection
from trainer.worker.rank import EXIT_AGAIN, EXIT_FAILED, Outcome, Rank, exit_at_once
from trainer.worker.reception import Greeting, Interrupted, Outdated, Reception

log = logging.getLogger(__name__)

PROGRESS_S = 2.0
PROBE_S = 0.5
LAUNCHER_SILENCE_S = 120.0
"""How long a launcher may be silent, which tells its ranks every few seconds that it is alive."""
CHECKPOINT_GRACE_S = 60.0
"""How long the ranks of a launcher that is gone may take for a last step and its checkpoint."""


class WarmWorker:
    """A worker from its warm-up to the end of its training."""

    def __init__(
        self, settings: Settings, facts: FactWriter, metadata: Metadata, is_current: Callable[[], bool]
    ) -> None:
        self._rank = Rank.begun(settings, facts, metadata)
        self._is_current = is_current

    def run(self, socket: Path, wanted: Path | None) -> int:
        """Prepares a training, waits at `socket`, becomes a rank, trains to the end, and exits.

        A worker that waits ends with an error when the settings have changed: its supervisor then starts it with the
        new ones.

        Args:
            socket: Where to wait.
            wanted: A file that is removed when this node has left the training for good.

        Returns:
            The exit code, if there was no training. After a training, the process ends here.
        """
        rank = self._rank
        rank.requests.leave_on_signals()
        messenger = _LateMessenger()
        training = rank.prepare(messenger, is_elastic=True)
        reason = rank.facts.reason
        greeting = Greeting.refused(reason) if training is None else Greeting.ready(training.prepared.digest)
        try:
            connection, message = Reception(rank, socket, self._is_current, greeting).wait()
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
        for task, given in ((_listen, (connection, rank)), (_tell_progress, (connection.messenger, rank, training))):
            threading.Thread(target=task, args=given, name=task.__name__, daemon=True).start()
        outcome = rank.train(training, messenger)
        if outcome.is_for_good and wanted is not None:
            wanted.unlink(missing_ok=True)
        code = code_of(outcome)
        connection.messenger.send("exit", code=code)
        exit_at_once(code)


def code_of(outcome: Outcome) -> int:
    """Returns the exit code of a worker: 0 where its supervisor is not to start it again."""
    if outcome is Outcome.FAILED:
        return EXIT_FAILED
    return EXIT_AGAIN if outcome in (Outcome.STOPPED, Outcome.CUT_OFF) else 0


class _LateMessenger:
    """Passes messages on once a launcher has attached. Before, nobody listens."""

    def __init__(self) -> None:
        self.target: Messenger = Silent()

    def send(self, event: str, **details: object) -> None:
        """Passes a message on."""
        self.target.send(event, **details)


def _listen(connection: LauncherConnection, rank: Rank) -> None:
    """Takes the launcher's requests, until it hangs up or is silent for too long.

    Where the launcher is gone, all ranks stop with a checkpoint. Where it answers others, this rank alone leaves.
    """
    connection.socket.settimeout(LAUNCHER_SILENCE_S)
    while (lines := connection.read()) is not None:
        for message in map(parse, lines):
            if message is not None and "stop" in message:
                rank.requests.stop(str(message["stop"]))
            if message is not None and "hosts" in message:
                host_updates.notice()
    rank.requests.is_cut_off = True
    rendezvous = Rendezvous(os.environ)
    while rendezvous.is_there():  # a launcher that is being ended may answer for a while yet
        rank.requests.leave("the connection to the launcher is lost")
        time.sleep(PROBE_S)
    rank.requests.stop("the launcher is gone", CHECKPOINT_GRACE_S)


def _tell_progress(messenger: Messenger, rank: Rank, training: Training) -> None:
    """Tells the launcher again and again which step this rank is at, and how long a step takes."""
    while True:
        seconds = rank.facts.figures.iteration_time_s
        messenger.send("progress", step=training.state.progress.step, step_time_s=seconds)
        time.sleep(PROGRESS_S)


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
