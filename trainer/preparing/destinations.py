"""Where each pair goes: to a shard of the training split, or held out for validation or the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer.data.prepared.manifest import SPLITS
from trainer.preparing.cleaning.chunk import ChunkSummary
from trainer.preparing.errors import PreparationError
from trainer.preparing.scatter import mixed, shard_of, shards_for
from trainer.settings.preparation import PreparationSettings

LEFT_OUT = -1
TOGETHER = 1 << 20
"""Pairs for which places are drawn together: it takes some 50 bytes of memory for each."""


@dataclass(frozen=True)
class Destinations:
    """Where the pairs go.

    Attributes:
        shards: The shards of all splits: the split of each, and its number in the split.
        of_chunk: For each chunk, the shard of each pair by its place in `shards`; LEFT_OUT: none.
    """

    shards: list[tuple[str, int]]
    of_chunk: list[NDArray[np.int32]]


def assign(
    chunks: Sequence[ChunkSummary], kept: Sequence[NDArray[np.bool_]], settings: PreparationSettings
) -> Destinations:
    """Returns where each pair goes.

    Args:
        chunks: The cleaned chunks of all splits, in the order of the corpus.
        kept: For each chunk, which of its pairs are no duplicates.
        settings: The shards' size, the pairs that are held out, and the seed of both.

    Raises:
        PreparationError: A split would be empty.
    """
    splits = [np.full(one.kept, SPLITS.index(one.split), dtype=np.int8) for one in chunks]
    split_of = np.concatenate([np.empty(0, dtype=np.int8), *splits])  # (pairs,)
    split_of[~np.concatenate([np.empty(0, dtype=bool), *kept])] = LEFT_OUT
    if settings.held_out:
        _hold_out(split_of, settings.held_out, settings.seed)
    shards: list[tuple[str, int]] = []
    places = np.full(len(split_of), LEFT_OUT, dtype=np.int32)
    for number, split in enumerate(SPLITS):
        chosen = np.flatnonzero(split_of == number)
        if not len(chosen):
            raise PreparationError(f"no pair is left for the split {split}: name more text, or filter less")
        count = shards_for(len(chosen), settings.shard_pairs)
        for start in range(0, len(chosen), TOGETHER):
            some = chosen[start : start + TOGETHER]
            places[some] = len(shards) + shard_of(start + np.arange(len(some)), count, settings.seed)
        shards += [(split, shard) for shard in range(count)]
    return Destinations(shards, np.split(places, np.cumsum([one.kept for one in chunks])[:-1]))


def _hold_out(split_of: NDArray[np.int8], count: int, seed: int) -> None:
    """Moves `count` pairs of the training split to validation and as many to the test, wherever they are."""
    training = np.flatnonzero(split_of == SPLITS.index("train"))
    if len(training) <= 2 * count:
        raise PreparationError(f"held_out takes {2 * count} pairs, and only {len(training)} are left to take them from")
    drawn = training[_drawn(len(training), 2 * count, seed + 1)]
    split_of[drawn[:count]], split_of[drawn[count:]] = SPLITS.index("validation"), SPLITS.index("test")


def _drawn(numbers: int, count: int, seed: int) -> NDArray[np.int64]:
    """Returns `count` numbers below `numbers`: those that `mixed` makes the smallest, the smallest first."""
    drawn, keys = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for start in range(0, numbers, TOGETHER):
        some = np.arange(start, min(start + TOGETHER, numbers))
        drawn, keys = np.concatenate([drawn, some]), np.concatenate([keys, mixed(some, seed)])
        first = np.argsort(keys, kind="stable")[:count]
        drawn, keys = drawn[first], keys[first]
    return drawn
