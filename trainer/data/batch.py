"""The arrays of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer.data.samples import Sample


@dataclass(frozen=True)
class Batch:
    """One rank's part of a global batch, as arrays.

    Attributes:
        src: Source ids, shape (sentences, source length).
        src_len: Their lengths without padding, shape (sentences,).
        tgt: Target ids, shape (sentences, target length).
        tgt_len: Their lengths without padding, shape (sentences,).
        target_tokens: The number of tokens to predict: end-of-sentence counts, begin-of-sentence does not.
        padding_share: The part of both arrays of ids that is padding, from 0 to 1.
    """

    src: NDArray[np.int32]
    src_len: NDArray[np.float32]
    tgt: NDArray[np.int32]
    tgt_len: NDArray[np.float32]
    target_tokens: int
    padding_share: float

    @property
    def ids(self) -> int:
        """The number of ids in both arrays, padding included."""
        return self.src.size + self.tgt.size


def _pad(sequences: Sequence[Sequence[int]], pad_id: int, width: int) -> NDArray[np.int32]:
    padded = np.full((len(sequences), width), pad_id, dtype=np.int32)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return padded


def collate(samples: Sequence[Sample], pad_id: int, multiple: int = 8) -> Batch:
    """Pads samples into arrays. The source's length, and the target's length less one, are multiples of `multiple`.

    With few distinct shapes, a hybridized model finds its memory plan again and need not make a new one.

    Raises:
        ValueError: There is no sample.
    """
    if not samples:
        raise ValueError("a batch needs at least one sample")
    sources, targets = [sample[0] for sample in samples], [sample[1] for sample in samples]
    src = _pad(sources, pad_id, round_up(max(map(len, sources)), multiple))
    tgt = _pad(targets, pad_id, round_up(max(map(len, targets)) - 1, multiple) + 1)
    src_len = np.array([len(source) for source in sources], dtype=np.float32)
    tgt_len = np.array([len(target) for target in targets], dtype=np.float32)
    filled = float(src_len.sum() + tgt_len.sum())
    return Batch(src, src_len, tgt, tgt_len, int(tgt_len.sum()) - len(samples), 1 - filled / (src.size + tgt.size))


def round_up(number: int, multiple: int) -> int:
    """Returns the smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple
