"""Gathering one shard: its pairs of all chunks, in the order of the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer.data.prepared.manifest import ShardEntry, parse_shard
from trainer.data.prepared.shard_arrays import ShardArrays, joined
from trainer.files.atomic import write_atomically
from trainer.preparing.corpus_writer import write_shard
from trainer.preparing.encoding import part_of
from trainer.storage.opening import open_storage


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
    """A shard to write, and the files of the encoded chunks in the order of the corpus."""

    shard: ShardJob
    chunks: Sequence[Path]


def gather(job: GatheringJob) -> ShardEntry:
    """Writes a shard of what the chunks have for it, unless it is there already. Raises StorageError."""
    return write_once(job.shard, lambda: joined([part_of(path, job.shard.place) for path in job.chunks]))


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
