"""Reading and cleaning raw text on Spark, into rows of Parquet."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from trainer.preparing.cleaning.chunk import ChunkSummary, cleaned, parse_summary
from trainer.preparing.sources.chunks import CHUNK_LINES, RawChunk, ReadFile, chunks_of
from trainer.preparing.sources.listing import Text
from trainer.settings.preparation import PreparationSettings

SUCCESS = "_SUCCESS"
"""The file that Spark writes into a folder when all of it is there."""
SUMMARY, FILES = -1, -2
"""The `position` of rows that are no pairs: the summary of a chunk, and the files that were read for a text."""
COLUMNS = (
    "text int, first long, position int, line long, source string, target string, exact long, near long, told string"
)
"""The columns of cleaned rows.

- text: the number of the text;
- first: the number of the first line of its chunk;
- position: the number of the pair among those that are left of the chunk;
- line: its line, counted from the first one of the chunk;
- source, target: the pair;
- exact, near: its hashes;
- told: JSON, in rows that are no pairs.
"""
PARTS_PER_CORE = 2

Row = tuple[int, int, int, int, str | None, str | None, int, int, str | None]
Place = tuple[int, int]
"""The number of a text, and of a line in it."""


@dataclass(frozen=True)
class CleanedText:
    """All text, cleaned.

    Attributes:
        summaries: The summaries of the chunks, in the order of the corpus.
        read: The files that were read, in the same order.
        pairs: The pairs, with the columns number (in the corpus), split, line, source, target, exact and near.
    """

    summaries: list[ChunkSummary]
    read: list[ReadFile]
    pairs: DataFrame


def clean_texts(spark: SparkSession, texts: Sequence[Text], settings: PreparationSettings, folder: Path) -> None:
    """Cleans texts into Parquet, unless that is done already. Each text is read by one task, and cleaned by many."""
    if (folder / SUCCESS).exists():
        return
    context = spark.sparkContext
    chunks = context.parallelize(list(enumerate(texts)), len(texts)).flatMap(_read)
    spread = chunks.partitionBy(PARTS_PER_CORE * context.defaultParallelism, _turn)
    rows = spread.flatMap(functools.partial(_rows, settings.model_dump_json()))
    spark.createDataFrame(rows, COLUMNS, verifySchema=False).write.mode("overwrite").parquet(str(folder))


def read_cleaned_text(spark: SparkSession, folder: Path) -> CleanedText:
    """Returns what `clean_texts` has written."""
    rows = spark.read.schema(COLUMNS).parquet(str(folder))
    told = sorted(rows.where("position < 0").select("text", "first", "position", "told").collect())
    summaries = [(row.text, row.first, parse_summary(row.told)) for row in told if row.position == SUMMARY]
    ends = np.cumsum([summary.kept for _, _, summary in summaries]).tolist()
    chunks = [
        (text, first, end - summary.kept, summary.split)
        for (text, first, summary), end in zip(summaries, ends, strict=True)
    ]
    chunk = spark.createDataFrame(chunks, "text int, first long, before long, split string")
    pairs = rows.where("position >= 0").join(F.broadcast(chunk), ["text", "first"])
    return CleanedText(
        [summary for _, _, summary in summaries],
        [ReadFile(**one) for row in told if row.position == FILES for one in json.loads(row.told)],
        pairs.withColumn("number", F.col("before") + F.col("position")),
    )


def _read(numbered: tuple[int, Text]) -> Iterator[tuple[Place, RawChunk | list[ReadFile]]]:
    """Yields the chunks of a text, and the files that it was read from."""
    number, text = numbered
    read: list[ReadFile] = []
    for chunk in chunks_of(text, read):
        yield (number, chunk.first), chunk
    yield (number, 0), read


def _turn(place: Place) -> int:
    """Returns a number that is another one for neighbouring chunks, so that they are cleaned by different tasks."""
    return place[0] + place[1] // CHUNK_LINES


def _rows(settings: str, item: tuple[Place, RawChunk | list[ReadFile]]) -> Iterator[Row]:
    """Yields the rows of a chunk, or the one row of the files of a text."""
    (text, first), raw = item
    if isinstance(raw, list):
        yield text, first, FILES, 0, None, None, 0, 0, json.dumps([asdict(one) for one in raw])
        return
    chunk = cleaned(raw, _settings(settings))
    yield text, first, SUMMARY, 0, None, None, 0, 0, chunk.summary.to_json()
    hashes: list[Any] = [array.view(np.int64).tolist() for array in (chunk.exact, chunk.near)]
    pairs = zip(itertools.count(), chunk.lines.tolist(), chunk.pairs, *hashes, strict=False)
    for position, line, (source, target), exact, near in pairs:
        yield text, first, position, line, source, target, exact, near, None


@functools.lru_cache(maxsize=1)
def _settings(content: str) -> PreparationSettings:
    return PreparationSettings.model_validate_json(content)
