"""Encoding one cleaned chunk, and sorting its pairs by the shard that they go to."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.data.prepared.array_file import encoded_arrays, mapped_arrays
from trainer.data.prepared.shard_arrays import ShardArrays, smallest_type, text_arrays
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
    pairs = read_cleaned(job.cleaned).pairs[:]
    order = np.argsort(job.shard_of, kind="stable")  # (pairs,)
    left_out = int(np.count_nonzero(job.shard_of < 0))
    vocabulary = _vocabulary(job.vocabulary)
    shard = encoded_pairs([pairs[index] for index in order[left_out:].tolist()], vocabulary)
    ends = np.cumsum(np.bincount(job.shard_of[job.shard_of >= 0], minlength=job.shards))  # (shards,)
    arrays = {
        "ids": shard.ids.astype(smallest_type(len(vocabulary))),
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


def parts_of(path: Path, shards: range) -> list[ShardArrays]:
    """Returns what an encoded chunk has for each of these shards.

    It is copied: mapped parts of all chunks would hold all their files open.

    Args:
        path: The file of the chunk.
        shards: The places of shards that follow each other.
    """
    arrays = mapped_arrays(path)

    def of_each(name: str, ends: str) -> list[NDArray[Any]]:
        bounds = [0, *arrays[ends][: shards.stop].tolist()][shards.start :]
        copied = arrays[name][bounds[0] : bounds[-1]].copy()
        return [copied[start - bounds[0] : end - bounds[0]] for start, end in itertools.pairwise(bounds)]

    fields = (("ids", "id_ends"), ("pieces", "pair_ends"), ("text", "text_ends"), ("text_bytes", "pair_ends"))
    return [ShardArrays(*of_shard) for of_shard in zip(*(of_each(*field) for field in fields), strict=True)]


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
