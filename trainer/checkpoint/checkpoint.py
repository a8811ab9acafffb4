"""One checkpoint: everything that a training needs to continue at the very next step, as one blob with a checksum.

A blob has a magic line, the checksum of all that follows, a JSON header line (step, progress, and the digests of
settings, vocabulary and corpus), and the arrays as NumPy's npz. The log of the progress is one of the arrays: its text
is not made anew for each checkpoint.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.checkpoint.log_lines import LogLines
from trainer.checkpoint.origin import Origin

MAGIC = b"centavo checkpoint 1\n"
LOG = "progress.log"
"""The name under which the log of the progress lies beside the arrays."""


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
    """

    step: int
    arrays: dict[str, NDArray[Any]]
    progress: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False


def encode(checkpoint: Checkpoint, origin: Origin) -> bytes:
    """Returns the checkpoint as one blob."""
    progress, named = dict(checkpoint.progress), dict(checkpoint.arrays)
    if "log" in progress:
        named[LOG] = np.frombuffer(progress.pop("log").text().encode(), dtype=np.uint8)
    arrays = io.BytesIO()
    np.savez(arrays, **named)
    header = {
        "step": checkpoint.step,
        "stopped": checkpoint.stopped,
        **asdict(origin),
        "progress": progress,
    }
    content = json.dumps(header).encode() + b"\n" + arrays.getvalue()
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def decode(blob: bytes, origin: Origin) -> Checkpoint:
    """Returns the checkpoint of a blob. Raises CheckpointError if it is torn, or of another training than `origin`."""
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
    with np.load(io.BytesIO(data), allow_pickle=False) as npz:
        arrays = dict(npz.items())
    if LOG in arrays:
        header["progress"]["log"] = LogLines.parse(arrays.pop(LOG).tobytes().decode())
    return Checkpoint(header["step"], arrays, header["progress"], header["stopped"])
