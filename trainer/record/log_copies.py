"""Copies of the training's log in its storage while the training goes on, and of TensorBoard's event file.

So whoever looks from elsewhere sees loss, speed and validation before the end, and what was logged outlives the node.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from trainer.checkpoint.log_lines import LogLines
from trainer.storage.storage import Storage, StorageError

log = logging.getLogger(__name__)

LOG_NAME = "progress/train.log"
EVENTS_NAME = "progress/events.out.tfevents.training"
"""Under this name TensorBoard finds the file, also in a bucket: `tensorboard --logdir s3://BUCKET/RUN/progress`."""
LEAST_PAUSE_S, LONGEST_PAUSE_S = 15.0, 300.0
BYTES_PER_S = 40_000.0
"""How much is copied on average: a log that grows is copied as a whole, and more and more seldom."""


class LogCopies:
    """Copies the newest log in a thread of its own. While the storage does not answer, only the newest log waits.

    Args:
        storage: The training's.
        events_file: Returns the event file that this rank writes; None while there is none.
        least_pause_s: How long is waited before each copy.
    """

    def __init__(
        self, storage: Storage, events_file: Callable[[], Path | None], least_pause_s: float = LEAST_PAUSE_S
    ) -> None:
        self._storage, self._events_file, self._least_pause_s = storage, events_file, least_pause_s
        self._newest: LogLines | None = None
        self._is_new, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_well = True

    def offer(self, lines: LogLines) -> None:
        """Takes the log as it is now, in place of one that waits."""
        with self._lock:
            self._newest = lines.copy()
        self._is_new.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._copy_on, name="log copies", daemon=True)
            self._thread.start()

    def drop(self) -> None:
        """Forgets the log that waits: another rank copies it from now on."""
        with self._lock:
            self._newest = None

    def copy_once(self) -> float:
        """Copies the log that waits, if there is one. Returns how long to wait before the next copy."""
        with self._lock:
            lines, self._newest = self._newest, None
        if lines is None:
            return self._least_pause_s
        try:
            copied = self._copy(lines)
        except (StorageError, OSError) as error:
            if self._is_well:
                log.warning("the log is not copied to the storage, and is tried again: %s", error)
            self._is_well = False
            with self._lock:
                self._newest = self._newest or lines
            self._is_new.set()
            return min(4 * self._least_pause_s, LONGEST_PAUSE_S)
        if not self._is_well:
            log.warning("the log is copied to the storage again")
        self._is_well = True
        return max(self._least_pause_s, copied / BYTES_PER_S)

    def _copy(self, lines: LogLines) -> int:
        """Returns how many bytes were copied. Raises StorageError or OSError."""
        text, events = lines.text().encode(), self._events_file()
        self._storage.put(LOG_NAME, text)
        if events is None:
            return len(text)
        content = events.read_bytes()
        self._storage.put(EVENTS_NAME, content)
        return len(text) + len(content)

    def _copy_on(self) -> None:
        pause_s = self._least_pause_s
        while True:
            time.sleep(pause_s)
            self._is_new.wait()
            self._is_new.clear()
            try:
                pause_s = self.copy_once()
            except Exception as error:  # the training goes on without copies of its log
                log.error("the log can't be copied: %s", error)
                pause_s = LONGEST_PAUSE_S
