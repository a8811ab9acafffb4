"""Waiting for a launcher: the warm worker greets everyone who attaches, until one of them makes it a rank."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.messages.lines import parse
from trainer.messages.unix_sockets import listen
from trainer.node.fact import State
from trainer.worker.launcher_connection import LauncherConnection
from trainer.worker.rank import Rank

log = logging.getLogger(__name__)

POLL_S = 0.5
WARM = "warm: ready to join"


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """This node is about to go, and has not joined a training."""


class Outdated(Exception):  # noqa: N818 - not an error: a reason to begin anew
    """The settings have changed, and this node has not joined a training."""


@dataclass(frozen=True)
class Greeting:
    """What everyone who attaches is told: that the worker is ready, or why it takes no part."""

    state: State
    reason: str | None
    event: str
    details: dict[str, Any]

    @classmethod
    def ready(cls, training_digest: str) -> Greeting:
        """Returns the greeting of a worker that can become a rank of the training with this digest."""
        return cls(State.STARTING, WARM, "ready", {"training_digest": training_digest})

    @classmethod
    def refused(cls, reason: str | None) -> Greeting:
        """Returns the greeting of a worker that cannot train here."""
        return cls(State.FAILED, reason, "refused", {"reason": reason})


class Reception:
    """The socket at which the worker waits."""

    def __init__(self, rank: Rank, path: Path, is_current: Callable[[], bool], greeting: Greeting) -> None:
        self._rank, self._path, self._is_current, self._greeting = rank, path, is_current, greeting
        self._server = listen(path)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)

    def wait(self) -> tuple[LauncherConnection, dict[str, Any]]:
        """Greets everyone, until one of them sends the environment of a rank. Returns it, and who has sent it.

        Raises:
            Interrupted: The node is about to go.
            Outdated: The settings have changed.
        """
        self._rank.facts.announce(self._greeting.state, self._greeting.reason)
        log.info("listening at %s: %s", self._path, self._greeting.reason)
        while True:
            ready = self._selector.select(POLL_S)
            self._check_that_it_may_wait()
            self._rank.facts.refresh()
            for key, _ in ready:
                if key.data is None:
                    self._greet()
                elif (message := self._hear(key.data)) is not None:
                    self._close_except(key.data)
                    return key.data, message

    def _check_that_it_may_wait(self) -> None:
        reason = self._rank.requests.leave_reason
        if reason is not None:
            self._path.unlink(missing_ok=True)
            self._rank.facts.announce(State.INTERRUPTED, reason)
            raise Interrupted
        if not self._is_current():
            self._path.unlink(missing_ok=True)
            log.warning("the settings have changed: the worker ends, to begin again with the new ones")
            raise Outdated

    def _greet(self) -> None:
        """Takes a connection. Whatever an earlier launcher has refused this worker for does not hold any more."""
        self._rank.facts.announce(self._greeting.state, self._greeting.reason)
        connection = LauncherConnection(self._server.accept()[0])
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.messenger.send(self._greeting.event, **self._greeting.details)

    def _hear(self, connection: LauncherConnection) -> dict[str, Any] | None:
        """Reads what a launcher says. Returns the message that makes this worker a rank, if it is among it."""
        lines = connection.read()
        if lines is None:
            self._selector.unregister(connection.socket)
            connection.socket.close()
            return None
        for message in map(parse, lines):
            if message is not None and "refuse" in message:
                log.error("%s", message["refuse"])
                self._rank.facts.announce(State.FAILED, str(message["refuse"]))
            if message is not None and "env" in message and self._greeting.event == "ready":
                return message
        return None

    def _close_except(self, chosen: LauncherConnection) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data is not None and key.data is not chosen:
                key.data.socket.close()
        self._selector.close()
        self._path.unlink(missing_ok=True)
        self._server.close()
