"""What a rank is asked to do from outside while it trains: to leave by itself, or to stop the whole training."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

GRACE_S = 25.0
EXIT_INTERRUPTED = 143


class Requests:
    """Requests from signal handlers and other threads. The training reads them between two steps."""

    def __init__(self) -> None:
        self.leave_reason: str | None = None
        self.stop_reason: str | None = None
        self._is_checkpoint_asked = False
        self.is_cut_off = False
        """Whether the launcher is gone, or has let go of this rank: the worker is to begin anew."""
        self._last_words: Callable[[str], None] = lambda reason: None

    def on_deadline(self, last_words: Callable[[str], None]) -> None:
        """Sets what is called with the reason when the time to leave is over, just before the process ends."""
        self._last_words = last_words

    def leave(self, reason: str, grace_s: float = GRACE_S) -> None:
        """Asks the rank to leave at the next change of the world, since this node is about to go.

        The process ends after `grace_s` in any case.
        """
        if self.leave_reason is None:
            self.leave_reason = reason
            self._give_up_after(grace_s, reason)

    def stop(self, reason: str, grace_s: float | None = None) -> None:
        """Asks all ranks to stop after the next step, with a checkpoint.

        The process ends after `grace_s` in any case, unless that is None.
        """
        if self.stop_reason is None and grace_s is not None:
            self._give_up_after(grace_s, reason)
        self.stop_reason = self.stop_reason or reason

    def keep(self) -> None:
        """Asks for a checkpoint after the next step."""
        self._is_checkpoint_asked = True

    def take_keep(self) -> bool:
        """Returns whether a checkpoint was asked for since the last call."""
        is_asked, self._is_checkpoint_asked = self._is_checkpoint_asked, False
        return is_asked

    def leave_on_signals(self) -> None:
        """Lets SIGTERM and SIGINT mean that this node is about to go. To be called in the main thread."""
        _on_signals(self.leave)

    def stop_on_signals(self) -> None:
        """Lets SIGTERM and SIGINT mean that the whole training is to stop: for ranks without a launcher of ours."""
        _on_signals(self.stop)

    def _give_up_after(self, grace_s: float, reason: str) -> None:
        timer = threading.Timer(grace_s, self._give_up, [reason])
        timer.daemon = True
        timer.start()

    def _give_up(self, reason: str) -> None:
        self._last_words(reason)
        os._exit(EXIT_INTERRUPTED)


def _on_signals(request: Callable[[str], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, frame: request(f"interrupted by {signal.Signals(received).name}"))
