"""One checkpoint: everything that a training needs to continue at the very next step, as one blob with checksums.

A blob has a magic line, the checksum of the header, the header as a line of JSON (step, progress, the digests of
settings, vocabulary and corpus, which arrays follow and their checksum), and the arrays one after another. The log of
the progress is one of the arrays: its text is not made anew for each checkpoint.

A blob is written and read part by part. The arrays are never copied as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from trainer.checkpoint.log_lines import LogLines
from trainer.checkpoint.origin import Origin

MAGIC = b"centavo checkpoint 2\n"
LOG = "progress.log"
"""The name under which the log of the progress lies beside the arrays."""
DIGEST_BYTES = 64
MOST_HEADER_BYTES = 64 << 20
TORN = "its checksum does not match: it is torn or has been changed"


class CheckpointError(ValueError):
    """A checkpoint cannot be used. The message says why."""


@dataclass(frozen=True)
class Checkpoint:
    """A copy of the training after `step` updates.

    Attributes:
        step: The number of updates.
        arrays: Parameters and the optimizer's state, by name.
        progress: The training's progress as plain data. Its `log`, where it has one, is a `LogLines`.
        stopped: Whether it was made because the training was told to stop. Such a checkpoint is resumed from and has no
            other use, so that a training that was stopped ends with the same average of checkpoints as any other.
        is_best: Whether it was made because a validation has found it among the best. It is no part of an average of
            the last ones.
        best_steps: The steps of the best checkpoints so far. Those are not removed when this one is written.
    """

    step: int
    arrays: dict[str, NDArray[Any]]
    progress: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False
    is_best: bool = False
    best_steps: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        """The bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays.values())


def encode(checkpoint: Checkpoint, origin: Origin) -> Iterator[bytes | memoryview]:
    """Yields the parts of the checkpoint's blob. The arrays must not change meanwhile."""
    progress, named = dict(checkpoint.progress), dict(checkpoint.arrays)
    if "log" in progress:
        named[LOG] = np.frombuffer(progress.pop("log").text().encode(), dtype=np.uint8)
    arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in named.items()}
    digest = hashlib.sha256()
    for array in arrays.values():
        digest.update(_bytes_of(array))
    header = {
        "step": checkpoint.step,
        "stopped": checkpoint.stopped,
        "is_best": checkpoint.is_best,
        **asdict(origin),
        "progress": progress,
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        "sha256": digest.hexdigest(),
    }
    line = json.dumps(header).encode() + b"\n"
    yield MAGIC + hashlib.sha256(line).hexdigest().encode() + b"\n" + line
    for array in arrays.values():
        yield _bytes_of(array)


def decode(blob: BinaryIO, origin: Origin, is_continued: bool = True) -> Checkpoint:
    """Reads a checkpoint.

    Args:
        blob: What `encode` has made.
        origin: The training that reads it.
        is_continued: Whether the training continues from it. One that only begins with its parameters may have other
            text and other settings, and needs the same vocabulary.

    Raises:
        CheckpointError: It is torn, or of a training that does not fit.
    """
    header = _header(blob)
    if header["vocabulary"] != origin.vocabulary:
        raise CheckpointError("it was made with another vocabulary")
    if is_continued:
        _check_origin(header, origin)
    arrays, digest = {}, hashlib.sha256()
    for name, dtype, shape in header["arrays"]:
        arrays[name] = np.empty(shape, dtype)
        if not _fill(_bytes_of(arrays[name]), blob):
            raise CheckpointError(TORN)
        digest.update(_bytes_of(arrays[name]))
    if digest.hexdigest() != header["sha256"] or blob.read(1):
        raise CheckpointError(TORN)
    if LOG in arrays:
        header["progress"]["log"] = LogLines.parse(arrays.pop(LOG).tobytes().decode())
    is_best = header.get("is_best", False)  # an older Centavo has not written it
    return Checkpoint(header["step"], arrays, header["progress"], header["stopped"], is_best)


def _check_origin(header: dict[str, Any], origin: Origin) -> None:
    if header["fingerprint"] != origin.fingerprint:
        raise CheckpointError("it was made by another Centavo or with another seed, corpus, vocabulary, model or batch")
    if header["corpus"] != origin.corpus:
        raise CheckpointError("it was made with other training or validation text, or by an older Centavo")


def _header(blob: BinaryIO) -> dict[str, Any]:
    if blob.read(len(MAGIC)) != MAGIC:
        raise CheckpointError("it is no checkpoint of this version of Centavo, or its beginning is lost")
    checksum, line = blob.read(DIGEST_BYTES + 1), blob.readline(MOST_HEADER_BYTES)
    if hashlib.sha256(line).hexdigest().encode() + b"\n" != checksum:
        raise CheckpointError(TORN)
    header: dict[str, Any] = json.loads(line)
    return header


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Returns the memory of an array, not a copy of it."""
    return array.reshape(-1).view(np.uint8).data


def _fill(memory: memoryview, blob: BinaryIO) -> bool:
    """Reads as many bytes as `memory` has. Returns False where the blob ends before."""
    filled = 0
    while filled < len(memory):
        part = blob.read(min(len(memory) - filled, 1 << 20))
        if not part:
            return False
        memory[filled : filled + len(part)] = part
        filled += len(part)
    return True
