"""Writes the iteration fact of this rank to `facts.d/iteration.fact`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from trainer.files.atomic import write_atomically
from trainer.node.fact import FILE_NAME, IterationFact, Notice, RankFigures, State, peak_memory_bytes, timestamp
from trainer.node.metadata import Instance
from trainer.node.steal import StealMeter

log = logging.getLogger(__name__)


class FactWriter:
    """Writes a fact at once where the state changes, and otherwise at most once in `interval_s`.

    A fact that cannot be written, on a full disk for one, ends no training.
    """

    def __init__(
        self,
        directory: Path,
        instance: Instance,
        *,
        interval_s: float = 1.0,
        emulated_speed: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = directory.expanduser() / FILE_NAME
        self._instance, self._emulated_speed = instance, emulated_speed
        self._interval_s, self._clock = interval_s, clock
        self._steal = StealMeter()
        self._written_at: float | None = None
        self._problem: str | None = None
        self.state = State.STARTING
        self.reason: str | None = None
        self.figures = RankFigures()
        self.notice: Notice | None = None
        """The spot service's last notice. Another thread may set it; it is written with the next fact."""

    def announce(self, state: State, reason: str | None = None) -> None:
        """Enters `state` and writes the fact at once."""
        self.state, self.reason = state, reason
        self._write(self._clock())

    def update(self, figures: RankFigures) -> bool:
        """Takes new figures, and writes the fact if it is time. Returns whether it was written."""
        self.figures = figures
        return self.refresh()

    def refresh(self) -> bool:
        """Writes the fact if the last one is `interval_s` old. Returns whether it was written."""
        now = self._clock()
        if self._written_at is not None and now - self._written_at < self._interval_s:
            return False
        self._write(now)
        return True

    def take_notice(self, notice: Notice) -> None:
        """Takes the spot service's notice, which is written with the next fact."""
        self.notice = notice

    def _write(self, now: float) -> None:
        fact = IterationFact(
            instance=self._instance,
            state=self.state,
            reason=self.reason,
            figures=self.figures,
            emulated_speed=self._emulated_speed,
            peak_memory_bytes=peak_memory_bytes(),
            updated_at=timestamp(now),
            steal_share=self._steal.share(),
            notice=self.notice,
        )
        self._written_at = now
        try:
            # Ansible may read facts as another user.
            write_atomically(self._path, fact.to_json() + "\n", readable_by_all=True)
            self._problem = None
        except OSError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                log.error("%s cannot be written: %s; the training goes on", self._path, error)
