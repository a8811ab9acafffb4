"""The checkpoints of a training in its storage.

A checkpoint is written by a thread of its own, from a copy, so that the training stops only for the copy.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable, Iterator

from trainer.checkpoint.checkpoint import Checkpoint, CheckpointError, decode, encode
from trainer.checkpoint.origin import Origin
from trainer.settings.training import MOST_WAITING_BYTES
from trainer.storage.storage import Storage

log = logging.getLogger(__name__)

PREFIX = "checkpoints/step-"
BEST, STOPPED = "-best", "-stopped"


def name_of(step: int, suffix: str = "") -> str:
    """Returns the name of the checkpoint of `step` in a storage. Names sort as their steps do."""
    return f"{PREFIX}{step:09d}{suffix}"


def _full_name(checkpoint: Checkpoint) -> str:
    return name_of(checkpoint.step, STOPPED if checkpoint.stopped else BEST if checkpoint.is_best else "")


def _is_regular(name: str) -> bool:
    return not name.endswith((BEST, STOPPED))


class Checkpoints:
    """The last `keep` checkpoints of one training, the best ones, and one more where it was stopped after them."""

    def __init__(self, storage: Storage, origin: Origin, keep: int) -> None:
        self._storage, self.origin, self._keep = storage, origin, keep
        self._pending: queue.Queue[Checkpoint | None] = queue.Queue(maxsize=1)
        self._thread: threading.Thread | None = None

    def save_in_background(self, checkpoint: Checkpoint) -> bool:
        """Hands a checkpoint to the thread that writes. Its arrays must not change from now on.

        Returns:
            False where it is dropped: another one is waiting, or is being written and this one is too large to wait.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="checkpoints", daemon=True)
            self._thread.start()
        try:
            if self._pending.unfinished_tasks and checkpoint.bytes > MOST_WAITING_BYTES:
                raise queue.Full
            self._pending.put_nowait(checkpoint)
        except queue.Full:
            log.warning(
                "the storage is slower than the checkpoints: that of step %d is left out",
                checkpoint.step,
            )
            return False
        return True

    def save_best_in_background(self, checkpoint: Checkpoint) -> None:
        """Does what `save_in_background` does, and drops nothing: it waits for the one that is being written."""
        self.finish()
        self.save_in_background(checkpoint)

    def finish(self) -> None:
        """Waits until all checkpoints that were handed over are written."""
        if self._thread is not None:
            self._pending.put(None)
            self._thread.join()
            self._thread = None

    def save(self, checkpoint: Checkpoint) -> str:
        """Writes a checkpoint now, and removes those that are neither among the last `keep` nor among the best.

        Returns:
            The name of the checkpoint.

        Raises:
            StorageError: The storage does not take it.
        """
        name = _full_name(checkpoint)
        self._storage.write(name, encode(checkpoint, self.origin))
        names = self._storage.names(PREFIX)
        best = {name_of(step, BEST) for step in checkpoint.best_steps}
        regular = [one for one in names if _is_regular(one)]
        kept = {*regular[-self._keep :], *best, names[-1], *([name] if checkpoint.stopped else [])}
        for old in sorted({*names} - kept):
            self._storage.delete(old)
        return name

    def discard_from(self, step: int) -> None:
        """Removes the checkpoints of `step` and of later steps."""
        for name in self._storage.names(PREFIX):
            if name >= name_of(step):
                log.warning(
                    "checkpoint %s/%s is removed: the training continues from an earlier step",
                    self._storage.location,
                    name,
                )
                self._storage.delete(name)

    @property
    def are_there(self) -> bool:
        """Whether the storage has any checkpoint, usable or not."""
        return bool(self._storage.names(PREFIX))

    def latest(self) -> Checkpoint | None:
        """Returns the newest usable checkpoint, or None. The log says why others cannot be used."""
        return next(self.newest(1), None)

    def latest_before(self, step: int) -> str | None:
        """Returns where the newest usable checkpoint of a step before `step` is, or None."""
        found = next(self.newest(1, step), None)
        return None if found is None else f"{self._storage.location}/{_full_name(found)}"

    def newest(self, count: int, before_step: int | None = None, regular_only: bool = False) -> Iterator[Checkpoint]:
        """Yields up to `count` usable checkpoints, the newest first. Each is read when it is asked for.

        Args:
            count: How many.
            before_step: Only checkpoints of steps before this one.
            regular_only: Without those that were made because the training was told to stop, or because they are among
                the best.
        """
        found = 0
        for name in reversed(self._storage.names(PREFIX)):
            if found == count:
                return
            if (before_step is not None and name >= name_of(before_step)) or (regular_only and not _is_regular(name)):
                continue
            if (checkpoint := self._read(name)) is not None:
                found += 1
                yield checkpoint

    def best(self, steps: Iterable[int]) -> Iterator[Checkpoint]:
        """Yields the usable ones of the best checkpoints, which are those of `steps`."""
        for step in steps:
            if (checkpoint := self._read(name_of(step, BEST))) is not None:
                yield checkpoint

    def _read(self, name: str) -> Checkpoint | None:
        """Returns a checkpoint; None where it has gone meanwhile or cannot be used."""
        blob = self._storage.open(name)
        if blob is None:
            return None
        try:
            with blob:
                return decode(blob, self.origin)
        except CheckpointError as error:
            log.warning("checkpoint %s/%s is refused: %s", self._storage.location, name, error)
            return None

    def _write_all(self) -> None:
        while (checkpoint := self._pending.get()) is not None:
            try:
                self.save(checkpoint)
            except Exception as error:  # the training continues: the next checkpoint may succeed
                log.error("the checkpoint of step %d could not be written: %s", checkpoint.step, error)
            del checkpoint  # it would be kept in memory until the next one comes
            self._pending.task_done()
        self._pending.task_done()
