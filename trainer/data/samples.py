"""Sentence pairs as ids, in flat arrays that may lie in memory or in a mapped file."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Sample = tuple[list[int], list[int]]
"""Source ids up to end-of-sentence, and target ids from begin-of-sentence to end-of-sentence."""
Pair = tuple[str, str]
"""A source sentence and its translation."""
FRAME = np.array([1, 2], dtype=np.int32)
"""What framing adds to the pieces of a source sentence (its end) and of a target sentence (begin and end)."""


class Encoder(Protocol):
    """The part of a vocabulary that encodes sentences."""

    bos_id: int
    eos_id: int

    def encode(self, sentence: str) -> list[int]:
        """Returns the piece ids of a sentence."""
        ...


@dataclass(frozen=True, eq=False)
class Samples(Sequence[Sample]):
    """Samples whose pieces lie in one flat array.

    Attributes:
        ids: The piece ids of all sentences, without begin and end of sentence. Shape (ids,).
        starts: Where the pieces of source and target begin in `ids`. Shape (samples, 2).
        pieces: How many pieces source and target have. Shape (samples, 2).
        bos_id: The id of begin-of-sentence.
        eos_id: The id of end-of-sentence.
    """

    ids: NDArray[Any]
    starts: NDArray[np.int64]
    pieces: NDArray[np.int32]
    bos_id: int
    eos_id: int

    @classmethod
    def of_pieces(cls, ids: NDArray[Any], pieces: NDArray[Any], bos_id: int, eos_id: int) -> Samples:
        """Returns samples whose sentences follow each other in `ids` without a gap: source, target, source, and so on.

        Args:
            ids: The piece ids of all sentences. Shape (ids,).
            pieces: How many pieces source and target have. Shape (samples, 2).
            bos_id: The id of begin-of-sentence.
            eos_id: The id of end-of-sentence.
        """
        ends = np.cumsum(pieces, dtype=np.int64).reshape(-1, 2)  # (samples, 2)
        return cls(ids, ends - pieces, np.asarray(pieces, dtype=np.int32), bos_id, eos_id)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: Any) -> Any:
        """Returns a sample with begin and end of sentence; for a slice, a list of them."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        starts, pieces = self.starts[index].tolist(), self.pieces[index].tolist()
        source, target = (self.ids[start : start + count].tolist() for start, count in zip(starts, pieces, strict=True))
        return [*source, self.eos_id], [self.bos_id, *target, self.eos_id]

    def __iter__(self) -> Iterator[Sample]:
        return (self[index] for index in range(len(self)))

    @functools.cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The numbers of ids of each sample, on the source and on the target side. Shape (samples, 2)."""
        return self.pieces + FRAME

    def select(self, chosen: NDArray[Any]) -> Samples:
        """Returns the samples with these indices, in this order. The ids are shared, not copied."""
        return Samples(self.ids, self.starts[chosen], self.pieces[chosen], self.bos_id, self.eos_id)


def flat(sentences: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns the ids of all sentences in one array, and how many each of them has."""
    counts = np.fromiter(map(len, sentences), dtype=np.int32, count=len(sentences))
    ids = np.fromiter(itertools.chain.from_iterable(sentences), dtype=np.int32, count=int(counts.sum()))
    return ids, counts


def encode_pairs(vocabulary: Encoder, pairs: Sequence[Pair]) -> Samples:
    """Returns the samples that sentence pairs make, in their order."""
    ids, counts = flat([vocabulary.encode(text) for pair in pairs for text in pair])
    return Samples.of_pieces(ids, counts.reshape(-1, 2), vocabulary.bos_id, vocabulary.eos_id)
