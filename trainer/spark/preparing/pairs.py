"""Encoding pairs on Spark, into a data set of Petastorm, and gathering its shards."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from petastorm.etl.dataset_metadata import materialize_dataset
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trainer.data.petastorm.reading import shard_of
from trainer.data.petastorm.schema import NUMBER, PAIR, SHARD, SOURCE, SOURCE_IDS, TARGET, TARGET_IDS, shard_name
from trainer.data.prepared.array_file import mapped_arrays
from trainer.data.prepared.manifest import ShardEntry
from trainer.data.vocabulary import Vocabulary
from trainer.preparing.encoding import encoded_pairs
from trainer.preparing.errors import PreparationError
from trainer.preparing.gathering import ShardJob, write_once

ROW_GROUP_MB = 32
FIELDS = (SHARD, NUMBER, SOURCE, TARGET, SOURCE_IDS, TARGET_IDS)
PLAIN = "number long, source string, target string"


def sentences_of(pairs: DataFrame, chosen: Path) -> Iterator[str]:
    """Yields both sides of the sampled pairs, in the order of the corpus.

    Args:
        pairs: The pairs, with the columns of `CleanedText.pairs`.
        chosen: A file with the array `is_sampled`: whether a pair is sampled, by its number.
    """
    sample = pairs.select("number", "source", "target").mapInPandas(functools.partial(_sampled, chosen), PLAIN)
    for row in sample.orderBy("number").toLocalIterator():
        yield row.source
        yield row.target


def write_pairs(
    spark: SparkSession,
    pairs: DataFrame,
    shards: Sequence[tuple[str, int]],
    chosen: Path,
    vocabulary: Path,
    folder: Path,
) -> None:
    """Encodes pairs, and writes them as a data set of Petastorm, with a folder for each shard.

    Args:
        spark: The session.
        pairs: The pairs, with the columns of `CleanedText.pairs`.
        shards: The shards of all splits: the split of each, and its number in the split.
        chosen: A file with the array `places`: the place in `shards` of each pair's shard; below 0: none.
        vocabulary: The file of the vocabulary.
        folder: The folder for the data set.
    """
    types = PAIR.as_spark_schema()
    schema = StructType([types[field.name] for field in FIELDS])
    names = [shard_name(*shard) for shard in shards]
    encode = functools.partial(_encoded, names, chosen, vocabulary)
    where = f"file://{folder.absolute()}"
    with materialize_dataset(spark, where, PAIR, ROW_GROUP_MB):
        encoded = pairs.select("number", "source", "target").mapInPandas(encode, schema)
        by_shard = encoded.repartition(len(shards), "shard").sortWithinPartitions("shard", "number")
        by_shard.write.mode("overwrite").partitionBy("shard").parquet(where)


def gather_shards(spark: SparkSession, jobs: Sequence[ShardJob], folder: Path) -> list[ShardEntry]:
    """Writes the shards of a corpus, each by a task that reads it from the data set through Petastorm's reader."""
    found: list[ShardEntry] = (
        spark.sparkContext.parallelize(jobs, len(jobs)).map(functools.partial(_gathered, folder.absolute())).collect()
    )
    return found


def _sampled(chosen: Path, batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    is_sampled = mapped_arrays(chosen)["is_sampled"]
    for batch in batches:
        yield batch[is_sampled[batch["number"].to_numpy()].astype(bool)]


def _encoded(names: list[str], chosen: Path, vocabulary: Path, batches: Iterable[pd.DataFrame]) -> Iterator[Any]:
    """Yields the fields of pairs that go to a shard."""
    places_of = mapped_arrays(chosen)["places"]
    learned = Vocabulary.read(vocabulary)
    for batch in batches:
        places = places_of[batch["number"].to_numpy()]
        kept, places = batch[places >= 0], places[places >= 0]
        _check_ends(kept)
        shard = encoded_pairs(list(zip(kept["source"], kept["target"], strict=True)), learned)
        ids = np.split(shard.ids.astype(np.int32), np.cumsum(shard.pieces)[:-1]) if len(shard) else []
        yield pd.DataFrame(
            {
                SHARD.name: [names[place] for place in places],
                NUMBER.name: kept["number"].to_numpy(),
                SOURCE.name: kept["source"].to_numpy(),
                TARGET.name: kept["target"].to_numpy(),
                SOURCE_IDS.name: [bytes(SOURCE_IDS.codec.encode(SOURCE_IDS, one)) for one in ids[::2]],
                TARGET_IDS.name: [bytes(TARGET_IDS.codec.encode(TARGET_IDS, one)) for one in ids[1::2]],
            }
        )


def _check_ends(pairs: pd.DataFrame) -> None:
    """Raises PreparationError for a sentence that Petastorm would give back without its last character."""
    for side in (SOURCE.name, TARGET.name):
        ends = pairs[pairs[side].str.endswith("\0")]
        if len(ends):
            raise PreparationError(
                f"a {side} sentence ends with the character NUL, which Petastorm drops: {ends[side].iloc[0][:80]!r}. "
                "Set normalise.control to true, or take the built-in engine"
            )


def _gathered(folder: Path, job: ShardJob) -> ShardEntry:
    return write_once(job, lambda: shard_of(folder, shard_name(job.split, job.number)))
