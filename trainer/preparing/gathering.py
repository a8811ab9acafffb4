"""Gathering shards: the pairs of each from all chunks, in the order of the corpus.

A shard has pairs of every chunk. Several shards are gathered together, so that a chunk is opened seldom.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer.data.prepared.manifest import ShardEntry, parse_shard
from trainer.data.prepared.shard_arrays import ShardArrays, joined
from trainer.files.atomic import write_atomically
from trainer.preparing.corpus_writer import write_shard
from trainer.preparing.encoding import parts_of
from trainer.storage.opening import open_storage

TOGETHER = 1 << 18
"""Pairs that are gathered together, where a shard has not more by itself. They take some 400 bytes of memory each."""


@dataclass(frozen=True)
class ShardJob:
    """A shard to write.

    Attributes:
        place: The shard's number among those of all splits.
        split: Its split.
        number: Its number in the split.
        vocabulary_pieces: How many pieces the vocabulary has.
        output: The folder of the corpus, or s3://bucket/prefix.
        result: The file for what the manifest says about the shard.
    """

    place: int
    split: str
    number: int
    vocabulary_pieces: int
    output: str
    result: Path


@dataclass(frozen=True)
class GatheringJob:
    """Shards to write, whose places follow each other, and the encoded chunks in the order of the corpus."""

    shards: Sequence[ShardJob]
    chunks: Sequence[Path]


def gathering_jobs(shards: Iterable[ShardJob], chunks: Sequence[Path], shard_pairs: int) -> Iterator[GatheringJob]:
    """Yields the jobs that write these shards.

    Args:
        shards: The shards, in the order of their places.
        chunks: The files of the encoded chunks, in the order of the corpus.
        shard_pairs: How many pairs a shard has, on average.
    """
    left = iter(shards)
    while some := tuple(itertools.islice(left, max(1, TOGETHER // shard_pairs))):
        yield GatheringJob(some, chunks)


def gather(job: GatheringJob) -> list[ShardEntry]:
    """Writes shards of what the chunks have for them, but for those that are there already. Raises StorageError."""
    places = range(job.shards[0].place, job.shards[-1].place + 1)

    @functools.cache
    def of_chunks() -> list[list[ShardArrays]]:
        return [parts_of(path, places) for path in job.chunks]

    def gathered(number: int) -> ShardArrays:
        return joined([parts[number] for parts in of_chunks()])

    return [write_once(shard, functools.partial(gathered, number)) for number, shard in enumerate(job.shards)]


def write_once(job: ShardJob, gathered: Callable[[], ShardArrays]) -> ShardEntry:
    """Writes a shard, unless it is there already.

    Args:
        job: The shard.
        gathered: Returns its pairs. It is called only where the shard has to be written.

    Raises:
        StorageError: The shard cannot be written.
    """
    storage = open_storage(job.output)
    if job.result.exists():
        entry = parse_shard(json.loads(job.result.read_bytes()))
        there = storage.names(f"{job.split}/{job.number:05d}-")
        if {entry.ids.name, entry.text.name} <= set(there):
            return entry
    entry = write_shard(storage, job.split, job.number, gathered(), job.vocabulary_pieces)
    write_atomically(job.result, json.dumps(asdict(entry)))
    return entry
