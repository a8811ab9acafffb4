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
    nothing = np.empty(0, dtype=np.int64)
    split_of = np.concatenate([nothing, *(np.full(one.kept, SPLITS.index(one.split)) for one in chunks)])  # (pairs,)
    split_of[~np.concatenate([nothing.astype(bool), *kept])] = LEFT_OUT
    if settings.held_out:
        _hold_out(split_of, settings.held_out, settings.seed)
    shards: list[tuple[str, int]] = []
    places = np.full(len(split_of), LEFT_OUT, dtype=np.int32)
    for number, split in enumerate(SPLITS):
        chosen = np.flatnonzero(split_of == number)
        if not len(chosen):
            raise PreparationError(f"no pair is left for the split {split}: name more text, or filter less")
        count = shards_for(len(chosen), settings.shard_pairs)
        places[chosen] = len(shards) + shard_of(np.arange(len(chosen)), count, settings.seed)
        shards += [(split, shard) for shard in range(count)]
    return Destinations(shards, np.split(places, np.cumsum([one.kept for one in chunks])[:-1]))


def _hold_out(split_of: NDArray[np.int64], count: int, seed: int) -> None:
    """Moves `count` pairs of the training split to validation and as many to the test, wherever they are."""
    training = np.flatnonzero(split_of == SPLITS.index("train"))
    if len(training) <= 2 * count:
        raise PreparationError(f"held_out takes {2 * count} pairs, and only {len(training)} are left to take them from")
    drawn = training[np.argsort(mixed(np.arange(len(training)), seed + 1), kind="stable")[: 2 * count]]
    split_of[drawn[:count]], split_of[drawn[count:]] = SPLITS.index("validation"), SPLITS.index("test")
