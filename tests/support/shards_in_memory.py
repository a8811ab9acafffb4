"""Shards that lie in memory: for tests of what reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trainer.data.samples import Encoder, Pair, Samples, encode_pairs, flat
from trainer.data.shard import Shard, length_counts

BOS_ID, EOS_ID = 2, 3


class ShardsInMemory:
    """A source of shards that are there already."""

    def __init__(self, *shards: Shard) -> None:
        self.shards = [replace(shard, number=number) for number, shard in enumerate(shards)]
        self.length_counts = [length_counts(shard.samples) for shard in self.shards]

    def open(self, number: int) -> Shard:
        """Returns the shard."""
        return self.shards[number]


def shard_of_pairs(vocabulary: Encoder, pairs: Sequence[Pair]) -> Shard:
    """Returns a shard of these sentence pairs."""
    return Shard(0, encode_pairs(vocabulary, pairs), pairs)


def shard_of_samples(samples: Sequence[tuple[list[int], list[int]]]) -> Shard:
    """Returns a shard of samples with begin and end of sentence, and without text."""
    pieces = [ids for source, target in samples for ids in (source[:-1], target[1:-1])]
    ids, counts = flat(pieces)
    return Shard(0, Samples.of_pieces(ids, counts.reshape(-1, 2), BOS_ID, EOS_ID), None)
