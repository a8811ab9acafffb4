"""Which samples of a shard make which global batch, in an order that depends on seed, epoch and shard alone.

A global batch is what all ranks together compute in one step. It is planned without knowing the fleet, and then cut
into one part for each rank. So the sequence of global batches is the same whoever joins or leaves, and the position in
it is all that a training has to remember.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trainer.data.shard import LengthCounts


class EpochPlan:
    """The global batches that one epoch makes of a shard, as arrays of indices of samples.

    Each sample is in exactly one batch, and samples of similar length are together. Within one length the samples are
    shuffled, and so are the batches.

    Args:
        lengths: The lengths of the samples on both sides. Shape (samples, 2).
        batch_tokens: The most tokens of a batch on either side, padding included. A longer sample is a batch by itself.
        seed: With `epoch` and `shard`, all that the order depends on.
        epoch: The number of the epoch, from 0.
        shard: The number of the shard, from 0.
        multiple: Lengths that round up to the same multiple of it count as equal.
        max_sentences: The most samples of a batch.
        count: The number of batches that there have to be. `batch_tokens` is raised as far as that takes.

    Raises:
        ValueError: The samples cannot make these batches.
    """

    def __init__(
        self,
        lengths: ArrayLike,
        batch_tokens: int,
        seed: int,
        epoch: int,
        shard: int = 0,
        multiple: int = 8,
        max_sentences: int | None = None,
        count: int | None = None,
    ) -> None:
        longest = np.asarray(lengths, dtype=np.int64).reshape(-1, 2).max(axis=1, initial=0)  # (samples,)
        if not len(longest):
            raise ValueError("there is no sample to make batches of")
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be 1 or more, not {batch_tokens}")
        rng = np.random.RandomState([seed % 2**32, epoch, *([shard] if shard else [])])
        padded = -(-longest // multiple) * multiple
        order = rng.permutation(len(padded))
        order = order[np.argsort(padded[order], kind="stable")]
        self.batch_tokens = batch_tokens
        batches = self._filled(order, padded[order], max_sentences, count)
        self.batches: list[NDArray[Any]] = [batches[position] for position in rng.permutation(len(batches))]

    def __len__(self) -> int:
        return len(self.batches)

    def _filled(
        self, order: NDArray[Any], padded: NDArray[np.int64], max_sentences: int | None, count: int | None
    ) -> list[NDArray[Any]]:
        ends = batch_ends(padded, self.batch_tokens, max_sentences)
        if count is None:
            return np.split(order, ends[:-1])
        if not -(-len(order) // (max_sentences or len(order))) <= count <= len(order):
            raise ValueError(f"{len(order)} samples cannot be {count} batches")
        while len(ends) > count:
            self.batch_tokens += -(-self.batch_tokens // 128)
            ends = batch_ends(padded, self.batch_tokens, max_sentences)
        batches = np.split(order, ends[:-1])
        _halve_largest(batches, count)
        return batches


def batches_of(counts: LengthCounts, batch_tokens: int, multiple: int, max_sentences: int | None) -> int:
    """Returns how many batches a shard makes in every epoch, by the lengths of its samples alone."""
    padded = np.repeat(-(-counts[:, 0] // multiple) * multiple, counts[:, 1])
    return len(batch_ends(padded, batch_tokens, max_sentences))


def batch_ends(padded: NDArray[np.int64], batch_tokens: int, max_sentences: int | None) -> Sequence[int]:
    """Returns where each batch ends, when batches are filled one after another.

    Args:
        padded: The padded lengths of the samples, the shortest first. Shape (samples,).
        batch_tokens: The most tokens of a batch, padding included. A longer sample is a batch by itself.
        max_sentences: The most samples of a batch.
    """
    ends, start = [], 0
    while start < len(padded):
        most = max(1, batch_tokens // int(padded[start]))
        window = padded[start : start + min(most, max_sentences or most)]  # (candidates,)
        fitting = int(np.count_nonzero(np.arange(1, len(window) + 1) * window <= batch_tokens))
        start += max(1, fitting)
        ends.append(start)
    return ends


def _halve_largest(batches: list[NDArray[Any]], count: int) -> None:
    while len(batches) < count:
        number = max(range(len(batches)), key=lambda index: len(batches[index]))
        largest, middle = batches[number], len(batches[number]) // 2
        batches.append(largest[middle:])
        batches[number] = largest[:middle]
