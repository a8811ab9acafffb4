"""Which pairs of the training text equal an earlier one, or one of the validation or the test split.

Hashes lie in the files of the chunks, of which one is mapped at a time. So many of them are looked at together as fit
into some MiB; a pair takes a few bytes of memory beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.preparing.cleaning.chunk import (
    SAMPLES,
    ChunkSummary,
    Dropped,
    HashKind,
    dropped_pair,
    read_cleaned,
    read_hashes,
)
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


def find_duplicates(chunks: Sequence[Path], summaries: Sequence[ChunkSummary], settings: FilterSettings) -> Verdicts:
    """Returns which pairs are kept. Of equal pairs it is the first one.

    Args:
        chunks: The files of the cleaned chunks, in the order of the corpus.
        summaries: Their summaries.
        settings: Which duplicates are left out.
    """
    is_training = [summary.split == "train" for summary in summaries]
    training = [path for path, is_one in zip(chunks, is_training, strict=True) if is_one]
    held_out = [path for path, is_one in zip(chunks, is_training, strict=True) if not is_one]
    ends = np.cumsum([summary.kept for summary in summaries if summary.split == "train"])  # (training chunks,)
    verdicts: NDArray[Any] = np.full(int(ends[-1]) if training else 0, KEPT, dtype=np.uint8)
    if settings.held_out and held_out:
        strange = np.concatenate([read_hashes(path, "exact") for path in held_out])
        are_strange = (np.isin(read_hashes(path, "exact"), strange) for path in training)
        verdicts[np.concatenate([np.empty(0, dtype=bool), *are_strange])] = HELD_OUT
    kinds: list[tuple[bool, HashKind, int]] = [
        (settings.duplicates, "exact", DUPLICATE),
        (settings.near_duplicates, "near", NEAR_DUPLICATE),
    ]
    for is_wanted, kind, verdict in kinds:
        if is_wanted:
            for later in _later_ones(training, kind, verdicts == KEPT):
                verdicts[later] = verdict
    counts = {reason.value: int(np.count_nonzero(verdicts == verdict)) for verdict, reason in REASONS.items()}
    samples = _samples(training, ends, verdicts)
    of_training = iter(np.split(verdicts == KEPT, ends[:-1]))
    of_chunk = [
        next(of_training) if is_one else np.ones(summary.kept, dtype=bool)
        for is_one, summary in zip(is_training, summaries, strict=True)
    ]
    return Verdicts(of_chunk, {reason: count for reason, count in counts.items() if count}, samples)


def _later_ones(chunks: Sequence[Path], kind: HashKind, is_kept: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yields the numbers of the kept pairs that have the hash of an earlier kept one, some at a time.

    Equal hashes leave equal rests: those that leave the same one are looked at together.

    Args:
        chunks: The files of the chunks.
        kind: Which hashes are compared.
        is_kept: Which pairs are kept so far. Shape (pairs,).
    """
    parts = -(-len(is_kept) // TOGETHER)
    for part in range(parts):
        numbers, values, start = [], [], 0
        for path in chunks:
            one = read_hashes(path, kind)
            found = np.flatnonzero((one % np.uint64(parts) == part) & is_kept[start : start + len(one)])
            numbers.append(start + found)
            values.append(one[found])
            start += len(one)
        first = np.unique(np.concatenate(values), return_index=True)[1]
        yield np.delete(np.concatenate(numbers), first)


def _samples(chunks: Sequence[Path], ends: NDArray[Any], verdicts: NDArray[Any]) -> list[Dropped]:
    samples = []
    for verdict, reason in REASONS.items():
        for number in np.flatnonzero(verdicts == verdict)[:SAMPLES]:
            position = int(np.searchsorted(ends, number, side="right"))
            chunk = read_cleaned(chunks[position])
            index = int(number - ends[position] + len(chunk.exact))
            place = chunk.summary.place_of(int(chunk.lines[index]))
            samples.append(dropped_pair(reason, place, chunk.pairs[index]))
    return samples
