"""Pairs are scattered evenly, and on every machine alike."""

from __future__ import annotations

import numpy as np

from trainer.preparing.scatter import mixed, shard_of, shards_for


def test_shards_are_of_like_size_and_without_order() -> None:
    numbers = np.arange(100_000)
    shards = shard_of(numbers, 7, seed=1)
    assert np.bincount(shards).min() > 13_900
    assert abs(np.corrcoef(numbers, shards)[0, 1]) < 0.01
    assert (shard_of(numbers, 7, seed=2) != shards).mean() > 0.8


def test_the_numbers_are_splitmix64_s() -> None:
    # The first outputs of SplitMix64 with seed 0, as its reference code prints them.
    assert [int(one) for one in mixed(np.arange(3), seed=0)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_there_are_as_many_shards_as_it_takes() -> None:
    assert [shards_for(pairs, 100) for pairs in (0, 1, 100, 101)] == [1, 1, 1, 2]
