"""Checkpoints: everything that a training needs to go on at the very next step, in one checksummed blob.

A blob is a magic line, the checksum of all that follows, a JSON header line (step, progress, digests of settings,
vocabulary and corpus) and the arrays as NumPy's npz. It is written by a thread of its own, from a copy, so that the
training stops only for the copy.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import queue
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.checkpoint.storage import Storage

log = logging.getLogger(__name__)

MAGIC = b"centavo checkpoint 1\n"
PREFIX = "checkpoints/step-"
STOPPED = "-stopped"


def name_of(step: int, stopped: bool = False) -> str:
    """The name, in a storage, of the checkpoint of `step`; names sort as their steps do."""
    return f"{PREFIX}{step:09d}{STOPPED if stopped else ''}"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; says why."""


@dataclass(frozen=True)
class Origin:
    """Where a checkpoint belongs: digests of the settings that shape the numbers, of the vocabulary and the corpus."""

    fingerprint: str
    vocabulary: str
    corpus: str


@dataclass(frozen=True)
class Checkpoint:
    """A copy of the training after `step` updates: arrays by name, and `progress` as plain data.

    `stopped`: made out of turn, because the training was told to stop. It serves to go on from and for nothing else,
    so that a training that was stopped ends with the same average of checkpoints as one that was not.
    """

    step: int
    arrays: dict[str, NDArray[Any]]
    progress: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False


def encode(checkpoint: Checkpoint, origin: Origin) -> bytes:
    """The checkpoint as one blob."""
    arrays = io.BytesIO()
    np.savez(arrays, **checkpoint.arrays)
    header = {
        "step": checkpoint.step,
        "stopped": checkpoint.stopped,
        "fingerprint": origin.fingerprint,
        "vocabulary": origin.vocabulary,
        "corpus": origin.corpus,
        "progress": checkpoint.progress,
    }
    content = json.dumps(header).encode() + b"\n" + arrays.getvalue()
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def decode(blob: bytes, origin: Origin) -> Checkpoint:
    """The checkpoint of a blob. Raises CheckpointError when it is torn, or of another training."""
    if not blob.startswith(MAGIC):
        raise CheckpointError("it is no checkpoint of Centavo, or its beginning is lost")
    checksum, _, content = blob[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        raise CheckpointError("its checksum does not match: it is torn or has been changed")
    line, _, data = content.partition(b"\n")
    header = json.loads(line)
    if header["vocabulary"] != origin.vocabulary:
        raise CheckpointError("it was made with another vocabulary")
    if header["fingerprint"] != origin.fingerprint:
        raise CheckpointError("it was made by another Centavo or with another seed, corpus, vocabulary, model or batch")
    if header.get("corpus") != origin.corpus:
        raise CheckpointError("it was made with other training or validation text, or by an older Centavo")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return Checkpoint(header["step"], dict(arrays.items()), header["progress"], header["stopped"])


class Checkpoints:
    """The last `keep` checkpoints of one training in a storage, and one more where it was stopped after them."""

    def __init__(self, storage: Storage, origin: Origin, keep: int) -> None:
        self._storage, self._origin, self._keep = storage, origin, keep
        self._pending: queue.Queue[Checkpoint | None] = queue.Queue(maxsize=1)
        self._thread: threading.Thread | None = None

    def save_in_background(self, checkpoint: Checkpoint) -> bool:
        """Hand a checkpoint to the writing thread. False, and nothing is done, while two others are still waiting."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="checkpoints", daemon=True)
            self._thread.start()
        try:
            self._pending.put_nowait(checkpoint)
        except queue.Full:
            log.warning("the storage is slower than the checkpoints: that of step %d is left out", checkpoint.step)
            return False
        return True

    def finish(self) -> None:
        """Wait until all that was handed over is written."""
        if self._thread is not None:
            self._pending.put(None)
            self._thread.join()
            self._thread = None

    def save(self, checkpoint: Checkpoint) -> str:
        """Write a checkpoint now, remove those beyond the last `keep`, and return its name. Raises StorageError."""
        name = name_of(checkpoint.step, checkpoint.stopped)
        self._storage.put(name, encode(checkpoint, self._origin))
        names = self._storage.names(PREFIX)
        regular = [one for one in names if not one.endswith(STOPPED)]
        kept = {*regular[-self._keep :], names[-1], *([name] if checkpoint.stopped else [])}
        for old in sorted({*names} - kept):
            self._storage.delete(old)
        return name

    def discard_from(self, step: int) -> None:
        """Remove the checkpoints of `step` and later."""
        for name in self._storage.names(PREFIX):
            if name >= name_of(step):
                log.warning("checkpoint %s/%s is removed: nothing goes on from it", self._storage.location, name)
                self._storage.delete(name)

    @property
    def are_there(self) -> bool:
        """Whether the storage holds any, usable or not."""
        return bool(self._storage.names(PREFIX))

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that can be used, None when there is none; refused ones are logged with the reason."""
        return next(iter(self.newest(1)), None)

    def latest_before(self, step: int) -> str | None:
        """Where the newest usable checkpoint of a step before `step` is, None when there is none."""
        found = self.newest(1, step)
        return f"{self._storage.location}/{name_of(found[0].step, found[0].stopped)}" if found else None

    def newest(self, count: int, before_step: int | None = None, regular_only: bool = False) -> list[Checkpoint]:
        """Up to `count` usable checkpoints, of steps before `before_step` where one is given, the newest first.

        `regular_only`: without one that was made because the training was told to stop.
        """
        found: list[Checkpoint] = []
        for name in reversed(self._storage.names(PREFIX)):
            if len(found) == count:
                break
            if (before_step is not None and name >= name_of(before_step)) or (regular_only and name.endswith(STOPPED)):
                continue
            blob = self._storage.get(name)
            if blob is None:
                continue
            try:
                found.append(decode(blob, self._origin))
            except CheckpointError as error:
                log.warning("checkpoint %s/%s is refused: %s", self._storage.location, name, error)
        return found

    def _write_all(self) -> None:
        while (checkpoint := self._pending.get()) is not None:
            try:
                self.save(checkpoint)
            except Exception as error:  # the training goes on: the next checkpoint may succeed
                log.error("the checkpoint of step %d could not be written: %s", checkpoint.step, error)
