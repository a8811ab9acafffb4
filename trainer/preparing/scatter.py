"""Which shard a sentence pair goes to.

A corpus often has one domain after another. Its pairs are scattered over the shards, so that each shard is a sample of
the whole. Within a shard they keep their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def shards_for(pairs: int, pairs_per_shard: int) -> int:
    """Returns how many shards a split of so many pairs has."""
    return max(1, -(-pairs // pairs_per_shard))


def shard_of(numbers: NDArray[Any], shards: int, seed: int) -> NDArray[np.int64]:
    """Returns the shard of each pair.

    Args:
        numbers: The numbers of the pairs in the corpus, from 0. Shape (pairs,).
        shards: How many shards there are.
        seed: Another seed scatters them in another way.
    """
    return (mixed(numbers, seed) % np.uint64(shards)).astype(np.int64)


def mixed(numbers: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """Returns numbers that look drawn at random, the same ones on every machine.

    It is SplitMix64 (Steele, Lea, Flood 2014, https://doi.org/10.1145/2660193.2660195).
    """
    one = (numbers.astype(np.uint64) + np.uint64(seed % 2**32 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    one = (one ^ (one >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    one = (one ^ (one >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return one ^ (one >> np.uint64(31))
