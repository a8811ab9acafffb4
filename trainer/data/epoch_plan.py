"""Which samples make which global batch, in an order that depends on seed and epoch alone.

A global batch is what all ranks together compute in one step. It is planned without knowing the fleet, and then cut
into one part for each rank. So the sequence of global batches is the same whoever joins or leaves, and the position in
it is all that a training has to remember.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from trainer.data.batch import round_up
from trainer.data.samples import Lengths


class EpochPlan:
    """The global batches of one epoch, as lists of indices of samples.

    Each sample is in exactly one batch, and samples of similar length are together. Within one length the samples are
    shuffled, and so are the batches.

    Args:
        lengths: The lengths of the samples.
        batch_tokens: The most tokens of a batch on either side, padding included. A longer sample is a batch by itself.
        seed: With `epoch`, all that the order depends on.
        epoch: The number of the epoch, from 0.
        multiple: Lengths that round up to the same multiple of it count as equal.
        max_sentences: The most samples of a batch.
        count: The number of batches that there have to be. `batch_tokens` is raised as far as that takes.

    Raises:
        ValueError: The samples cannot make these batches.
    """

    def __init__(
        self,
        lengths: Sequence[Lengths],
        batch_tokens: int,
        seed: int,
        epoch: int,
        multiple: int = 8,
        max_sentences: int | None = None,
        count: int | None = None,
    ) -> None:
        if not lengths:
            raise ValueError("there is no sample to make batches of")
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be 1 or more, not {batch_tokens}")
        rng = np.random.RandomState([seed % 2**32, epoch])
        padded = [round_up(max(pair), multiple) for pair in lengths]
        order = rng.permutation(len(lengths))
        order = order[np.argsort(np.take(padded, order), kind="stable")]
        self.batch_tokens = batch_tokens
        batches = _filled(order, padded, batch_tokens, max_sentences)
        if count is not None:
            if not -(-len(order) // (max_sentences or len(order))) <= count <= len(order):
                raise ValueError(f"{len(order)} samples cannot be {count} batches")
            while len(batches) > count:
                self.batch_tokens += round_up(self.batch_tokens, 128) // 128
                batches = _filled(order, padded, self.batch_tokens, max_sentences)
            _halve_largest(batches, count)
        self.batches = [batches[position] for position in rng.permutation(len(batches))]

    def __len__(self) -> int:
        return len(self.batches)


def _filled(
    order: Iterable[int], padded: Sequence[int], batch_tokens: int, max_sentences: int | None
) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    for index in map(int, order):
        sentences = len(batches[-1]) + 1
        if batches[-1] and (sentences * padded[index] > batch_tokens or sentences > (max_sentences or sentences)):
            batches.append([])
        batches[-1].append(index)
    return batches


def _halve_largest(batches: list[list[int]], count: int) -> None:
    while len(batches) < count:
        largest = max(batches, key=len)
        middle = len(largest) // 2
        batches.append(largest[middle:])
        del largest[middle:]
