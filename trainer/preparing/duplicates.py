"""Which pairs of the training text equal an earlier one, or one of the validation or the test split.

Hashes lie in mapped files. So many of them are looked at together as fit into some MiB; a pair takes a few bytes of
memory beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.preparing.cleaning.chunk import SAMPLES, CleanedChunk, Dropped, dropped_pair
from trainer.preparing.cleaning.filters import Reason
from trainer.settings.preparation import FilterSettings

TOGETHER = 1 << 20
"""Pairs whose hashes are sorted together."""
KEPT, HELD_OUT, DUPLICATE, NEAR_DUPLICATE = range(4)
REASONS = {HELD_OUT: Reason.HELD_OUT, DUPLICATE: Reason.DUPLICATE, NEAR_DUPLICATE: Reason.NEAR_DUPLICATE}


@dataclass(frozen=True)
class Verdicts:
    """What becomes of each pair.

    Attributes:
        of_chunk: For each chunk, which of its pairs are kept. Shape of each (pairs of the chunk,).
        dropped: How many pairs are left out, by reason.
        samples: Some of them.
    """

    of_chunk: list[NDArray[np.bool_]]
    dropped: dict[str, int]
    samples: list[Dropped]


def find_duplicates(chunks: Sequence[CleanedChunk], settings: FilterSettings) -> Verdicts:
    """Returns which pairs are kept. Of equal pairs it is the first one."""
    training = [chunk for chunk in chunks if chunk.summary.split == "train"]
    held_out = [chunk for chunk in chunks if chunk.summary.split != "train"]
    exact, near = [one.exact for one in training], [one.near for one in training]
    verdicts: NDArray[Any] = np.full(sum(map(len, exact)), KEPT, dtype=np.uint8)
    if settings.held_out and held_out:
        strange = np.concatenate([one.exact for one in held_out])
        verdicts[np.concatenate([np.empty(0, dtype=bool), *(np.isin(one, strange) for one in exact)])] = HELD_OUT
    for is_wanted, hashes, verdict in (
        (settings.duplicates, exact, DUPLICATE),
        (settings.near_duplicates, near, NEAR_DUPLICATE),
    ):
        if is_wanted:
            for later in _later_ones(hashes, verdicts == KEPT):
                verdicts[later] = verdict
    counts = {reason.value: int(np.count_nonzero(verdicts == verdict)) for verdict, reason in REASONS.items()}
    ends = np.cumsum([len(chunk.exact) for chunk in training])
    samples = _samples(training, ends, verdicts)
    of_training = iter(np.split(verdicts == KEPT, ends[:-1]))
    of_chunk = [
        next(of_training) if one.summary.split == "train" else np.ones(len(one.exact), dtype=bool) for one in chunks
    ]
    return Verdicts(of_chunk, {reason: count for reason, count in counts.items() if count}, samples)


def _later_ones(hashes: Sequence[NDArray[np.uint64]], is_kept: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yields the numbers of the kept pairs that have the hash of an earlier kept one, some at a time.

    Equal hashes leave equal rests: those that leave the same one are looked at together.

    Args:
        hashes: The hashes of each chunk.
        is_kept: Which pairs are kept so far. Shape (pairs,).
    """
    starts = np.cumsum([0, *map(len, hashes)]).tolist()
    parts = -(-len(is_kept) // TOGETHER)
    for part in range(parts):
        numbers, values = [], []
        for start, one in zip(starts[:-1], hashes, strict=True):
            found = np.flatnonzero((one % np.uint64(parts) == part) & is_kept[start : start + len(one)])
            numbers.append(start + found)
            values.append(one[found])
        first = np.unique(np.concatenate(values), return_index=True)[1]
        yield np.delete(np.concatenate(numbers), first)


def _samples(chunks: Sequence[CleanedChunk], ends: NDArray[Any], verdicts: NDArray[Any]) -> list[Dropped]:
    samples = []
    for verdict, reason in REASONS.items():
        for number in np.flatnonzero(verdicts == verdict)[:SAMPLES]:
            position = int(np.searchsorted(ends, number, side="right"))
            chunk = chunks[position]
            index = int(number - ends[position] + len(chunk.exact))
            place = chunk.summary.place_of(int(chunk.lines[index]))
            samples.append(dropped_pair(reason, place, chunk.pairs[index]))
    return samples
