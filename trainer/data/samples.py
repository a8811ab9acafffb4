"""Sentence pairs as ids."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Sample = tuple[list[int], list[int]]
"""Source ids up to end-of-sentence, and target ids from begin-of-sentence to end-of-sentence."""
Lengths = tuple[int, int]
"""The numbers of ids of a sample, on the source and on the target side."""


class Encoder(Protocol):
    """The part of a vocabulary that encodes sentences."""

    bos_id: int
    eos_id: int

    def encode(self, sentence: str) -> list[int]:
        """Returns the piece ids of a sentence."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Encoded text.

    Attributes:
        samples: The samples as ids.
        pairs: The pairs of sentences that they were made of, in the same order.
        too_long: The number of pairs that were left out.
    """

    samples: list[Sample]
    pairs: list[tuple[str, str]]
    too_long: int

    @functools.cached_property
    def lengths(self) -> list[Lengths]:
        """The numbers of ids of each sample, on the source and on the target side."""
        return [(len(source), len(target)) for source, target in self.samples]


def encode_pairs(vocabulary: Encoder, pairs: Sequence[tuple[str, str]], max_tokens: int) -> Encoded:
    """Returns the encoded pairs. Pairs with more than `max_tokens` ids on a side are counted and left out."""
    encoded = ((pair, framed(vocabulary, *map(vocabulary.encode, pair))) for pair in pairs)
    kept = [(pair, sample) for pair, sample in encoded if max(map(len, sample)) <= max_tokens]
    return Encoded([sample for _, sample in kept], [pair for pair, _ in kept], len(pairs) - len(kept))


def framed(vocabulary: Encoder, source: Sequence[int], target: Sequence[int]) -> Sample:
    """Returns the sample that the piece ids of a sentence pair make: with begin and end of sentence."""
    return [*source, vocabulary.eos_id], [vocabulary.bos_id, *target, vocabulary.eos_id]
