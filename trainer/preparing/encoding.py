"""Encoding one cleaned chunk, and sorting its pairs by the shard that they go to."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.data.prepared.array_file import encoded_arrays, mapped_arrays
from trainer.data.prepared.shard_arrays import ShardArrays, text_arrays
from trainer.data.samples import Pair
from trainer.data.vocabulary import Vocabulary
from trainer.files.atomic import replaced
from trainer.preparing.cleaning.chunk import read_cleaned


@dataclass(frozen=True)
class EncodingJob:
    """A cleaned chunk to encode.

    Attributes:
        cleaned: The file of the cleaned chunk.
        shard_of: The shard that each of its pairs goes to; below 0: none. Shape (pairs,).
        shards: How many shards there are.
        vocabulary: The file of the vocabulary.
        result: The file for the result.
    """

    cleaned: Path
    shard_of: NDArray[np.int32]
    shards: int
    vocabulary: Path
    result: Path


def encode(job: EncodingJob) -> Path:
    """Encodes a chunk and writes the result, unless it is there already. Returns the file."""
    if job.result.exists():
        return job.result
    pairs = read_cleaned(job.cleaned).pairs
    order = np.argsort(job.shard_of, kind="stable")  # (pairs,)
    left_out = int(np.count_nonzero(job.shard_of < 0))
    shard = encoded_pairs([pairs[int(index)] for index in order[left_out:]], _vocabulary(job.vocabulary))
    ends = np.cumsum(np.bincount(job.shard_of[job.shard_of >= 0], minlength=job.shards))  # (shards,)
    arrays = {
        "ids": shard.ids,
        "pieces": shard.pieces,
        "text": shard.text,
        "text_bytes": shard.text_bytes,
        "pair_ends": ends,
        "id_ends": _at(shard.pieces, ends),
        "text_ends": _at(shard.text_bytes, ends),
    }
    with replaced(job.result) as temporary, temporary.open("wb") as file:
        file.writelines(encoded_arrays(arrays))
    return job.result


def part_of(path: Path, shard: int) -> ShardArrays:
    """Returns the pairs of one shard that an encoded chunk has. Its arrays are mapped."""
    arrays = mapped_arrays(path)

    def between(ends: str, *names: str) -> list[NDArray[np.generic]]:
        start = int(arrays[ends][shard - 1]) if shard else 0
        return [arrays[name][start : int(arrays[ends][shard])] for name in names]

    pieces, text_bytes = between("pair_ends", "pieces", "text_bytes")
    (ids,), (text,) = between("id_ends", "ids"), between("text_ends", "text")
    return ShardArrays(ids, pieces.astype(np.uint32), text.astype(np.uint8), text_bytes.astype(np.uint32))


def encoded_pairs(pairs: list[Pair], vocabulary: Vocabulary) -> ShardArrays:
    """Returns sentence pairs as ids and text."""
    ids, pieces = vocabulary.encode_all([text for pair in pairs for text in pair])
    text, text_bytes = text_arrays(pairs)
    return ShardArrays(ids, pieces.reshape(-1, 2).astype(np.uint32), text, text_bytes)


def _at(counts: NDArray[np.uint32], pair_ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where the shards end in an array of which every pair takes so many places on both sides."""
    sums = np.concatenate([[0], np.cumsum(counts.sum(axis=1, dtype=np.int64))])  # (pairs + 1,)
    return np.asarray(sums[pair_ends], dtype=np.int64)


@functools.lru_cache(maxsize=2)
def _vocabulary(path: Path) -> Vocabulary:
    return Vocabulary.read(path)
