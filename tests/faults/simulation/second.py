"""A second controller that is started while the first one runs: their calls alternate at random."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from controller.domain.errors import CentavoError
from tests.faults.simulation.scenarios import phase_of
from tests.unit.controller.world import InvariantError, KilledError, Manner, World

FIRST, SECOND = "MainThread", "the second controller"
WAIT_S = 60.0


@dataclass
class SecondController:
    """A second controller, started at the first call in a phase.

    Attributes:
        start: Starts it, and runs it to its end.
        ended: How it ended.
    """

    phase: str
    start: Callable[[], Any] = lambda: None
    fired_at: float | None = None
    until: float = 0.0
    ended: str = ""
    _random: random.Random = field(default_factory=lambda: random.Random(0))
    _turn: str = FIRST
    _condition: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None

    def plot(self, world: World, number: int, name: str) -> Manner | None:
        """Starts the second controller, and lets one or the other go on."""
        if self.fired_at is None and phase_of(world) == self.phase:
            self.fired_at, self.until = world.now, world.now
            self._thread = threading.Thread(target=self._live, name=SECOND, daemon=True)
            self._thread.start()
        if self._thread is not None and not self.ended:
            self._hand_over(self._random.choice((FIRST, SECOND)))
        return None

    def finish(self) -> None:
        """Lets the second controller go on to its end after the first one has ended."""
        if self._thread is not None and not self.ended:
            self._hand_over(SECOND)
        if self._thread is not None:
            self._thread.join(WAIT_S)

    def _live(self) -> None:
        self._wait()
        try:
            self.start()
            ended = "it ran to its end"
        except CentavoError as error:
            ended = f"{type(error).__name__}: {error.what}"
        except (KilledError, InvariantError) as error:
            ended = f"{type(error).__name__}: {error}"
        with self._condition:
            self.ended, self._turn = ended, FIRST
            self._condition.notify_all()

    def _hand_over(self, to: str) -> None:
        with self._condition:
            self._turn = to
            self._condition.notify_all()
        self._wait()

    def _wait(self) -> None:
        me = threading.current_thread().name
        with self._condition:
            self._condition.wait_for(lambda: self._turn == me or bool(self.ended), WAIT_S)
