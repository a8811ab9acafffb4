"""Which pairs of the training text equal an earlier one, or one of the validation or the test split.

All hashes are looked at together: 16 bytes a pair, and four times as many while they are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.preparing.cleaning.chunk import SAMPLES, CleanedChunk, Dropped, dropped_pair
from trainer.preparing.cleaning.filters import Reason
from trainer.settings.preparation import FilterSettings

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
    exact, near = _joined([one.exact for one in training]), _joined([one.near for one in training])
    verdicts: NDArray[Any] = np.full(len(exact), KEPT, dtype=np.uint8)
    if settings.held_out and held_out:
        verdicts[np.isin(exact, _joined([one.exact for one in held_out]))] = HELD_OUT
    for is_wanted, hashes, verdict in (
        (settings.duplicates, exact, DUPLICATE),
        (settings.near_duplicates, near, NEAR_DUPLICATE),
    ):
        if is_wanted:
            left = np.flatnonzero(verdicts == KEPT)
            first = np.unique(hashes[left], return_index=True)[1]
            verdicts[np.delete(left, first)] = verdict
    counts = {reason.value: int(np.count_nonzero(verdicts == verdict)) for verdict, reason in REASONS.items()}
    ends = np.cumsum([len(chunk.exact) for chunk in training])
    samples = _samples(training, ends, verdicts)
    of_training = iter(np.split(verdicts == KEPT, ends[:-1]))
    of_chunk = [
        next(of_training) if one.summary.split == "train" else np.ones(len(one.exact), dtype=bool) for one in chunks
    ]
    return Verdicts(of_chunk, {reason: count for reason, count in counts.items() if count}, samples)


def _joined(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.concatenate([np.empty(0, dtype=np.uint64), *hashes])


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
