"""A shard: a part of a corpus that is read as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trainer.data.samples import Pair, Samples

LengthCounts = NDArray[np.int64]
"""How many samples have which length: rows of a length and a count, shape (lengths, 2), the shortest length first.

The length of a sample is that of its longer side, in ids, with begin and end of sentence.
"""

KEPT_SHARDS = 3
"""Shards that are kept open: the one that is read, the one before it (a training may go back), and the next."""


class Texts(Protocol):
    """The sentence pairs of a shard as text."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Pair: ...


@dataclass(frozen=True)
class Selection:
    """Some of the pairs of `texts`: those whose indices are `chosen`."""

    texts: Texts
    chosen: NDArray[Any]

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, index: int) -> Pair:
        return self.texts[int(self.chosen[index])]


@dataclass(frozen=True)
class Shard:
    """A part of a corpus.

    Attributes:
        number: Its number among the shards of the corpus, from 0.
        samples: Its sentence pairs as ids.
        texts: The same pairs as text, in the same order; None: the text was not asked for.
    """

    number: int
    samples: Samples
    texts: Texts | None

    def within(self, max_tokens: int) -> Shard:
        """Returns the shard without the samples that have more than `max_tokens` ids on a side."""
        chosen = np.flatnonzero(self.samples.lengths.max(axis=1) <= max_tokens)
        if len(chosen) == len(self.samples):
            return self
        texts = None if self.texts is None else Selection(self.texts, chosen)
        return Shard(self.number, self.samples.select(chosen), texts)


class ShardSource(Protocol):
    """The shards of a corpus. Any thread may open one."""

    @property
    def length_counts(self) -> Sequence[LengthCounts]:
        """The lengths of the samples of each shard."""
        ...

    def open(self, number: int) -> Shard:
        """Returns a shard by its number."""
        ...


def length_counts(samples: Samples) -> LengthCounts:
    """Returns how many of the samples have which length."""
    lengths, counts = np.unique(samples.lengths.max(axis=1), return_counts=True)
    return np.stack([lengths, counts], axis=1).astype(np.int64)


def within(counts: LengthCounts, max_tokens: int) -> LengthCounts:
    """Returns the rows of lengths up to `max_tokens`."""
    kept: LengthCounts = counts[counts[:, 0] <= max_tokens]
    return kept
