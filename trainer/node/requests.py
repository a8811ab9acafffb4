"""What this rank has been told to do from outside while it trains: leave alone, or stop the whole training."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

GRACE_S = 25.0
EXIT_INTERRUPTED = 143


class Orders:
    """Set from signal handlers and other threads, read by the training between two steps."""

    def __init__(self) -> None:
        self.leave_reason: str | None = None
        self.stop_reason: str | None = None
        self._last_words: Callable[[str], None] = lambda reason: None

    def on_deadline(self, last_words: Callable[[str], None]) -> None:
        """What to say (write a fact) when the time to leave has run out and the process ends where it stands."""
        self._last_words = last_words

    def leave(self, reason: str, grace_s: float = GRACE_S) -> None:
        """This node is about to go: leave at the next change of the world, and in `grace_s` at the latest."""
        if self.leave_reason is None:
            self.leave_reason = reason
            timer = threading.Timer(grace_s, self._give_up)
            timer.daemon = True
            timer.start()

    def stop(self, reason: str) -> None:
        """All ranks are to stop after the next step, with a checkpoint."""
        self.stop_reason = self.stop_reason or reason

    def listen_to_signals(self) -> None:
        """SIGTERM and SIGINT mean that this node is about to go. Call it in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, frame: self.leave(f"interrupted by {signal.Signals(received).name}"))

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT mean that the whole training is to stop; for ranks that no launcher manages."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, frame: self.stop(f"interrupted by {signal.Signals(received).name}"))

    def _give_up(self) -> None:
        self._last_words(self.leave_reason or "")
        os._exit(EXIT_INTERRUPTED)
