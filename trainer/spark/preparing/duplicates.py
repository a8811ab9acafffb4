"""Finding duplicates on Spark: which pairs are left out is as `trainer.preparing.duplicates` says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from trainer.preparing.cleaning.chunk import SAMPLES, ChunkSummary, Dropped, dropped_pair
from trainer.preparing.duplicates import DUPLICATE, HELD_OUT, KEPT, NEAR_DUPLICATE, REASONS, Verdicts
from trainer.settings.preparation import FilterSettings


def find_duplicates(pairs: DataFrame, summaries: Sequence[ChunkSummary], settings: FilterSettings) -> Verdicts:
    """Returns which pairs are kept. Of equal pairs it is the first one.

    Args:
        pairs: The pairs, with the columns of `CleanedText.pairs`.
        summaries: The summaries of the chunks, in the order of the corpus.
        settings: Which duplicates are left out.
    """
    judged = _judged(pairs.select("number", "split", "exact", "near"), settings)
    left_out = judged.where(F.col("verdict") != KEPT).select("number", "verdict").orderBy("number").toPandas()
    numbers, verdicts = left_out["number"].to_numpy(), left_out["verdict"].to_numpy()
    ends = np.cumsum([summary.kept for summary in summaries])  # (chunks,)
    is_kept = np.ones(int(ends[-1]) if len(ends) else 0, dtype=bool)
    is_kept[numbers] = False
    counts = {reason.value: int(np.count_nonzero(verdicts == verdict)) for verdict, reason in REASONS.items()}
    shown = {verdict: numbers[verdicts == verdict][:SAMPLES].tolist() for verdict in REASONS}
    return Verdicts(
        np.split(is_kept, ends[:-1]),
        {reason: count for reason, count in counts.items() if count},
        _samples(pairs, summaries, ends.tolist(), shown),
    )


def _judged(pairs: DataFrame, settings: FilterSettings) -> DataFrame:
    """Returns the pairs of the training split with the column `verdict`."""
    training = pairs.where("split = 'train'").withColumn("verdict", F.lit(KEPT))
    if settings.held_out:
        held_out = pairs.where("split <> 'train'").select("exact", F.lit(HELD_OUT).alias("held_out")).distinct()
        training = training.join(held_out, "exact", "left").withColumn("verdict", F.coalesce("held_out", "verdict"))
    if settings.duplicates:
        training = _without_later_ones(training, "exact", DUPLICATE)
    if settings.near_duplicates:
        training = _without_later_ones(training, "near", NEAR_DUPLICATE)
    return training


def _without_later_ones(pairs: DataFrame, column: str, verdict: int) -> DataFrame:
    """Gives the verdict to all but the first of the kept pairs that are equal in a column."""
    equal = Window.partitionBy("verdict", column).orderBy("number")
    is_later = (F.col("verdict") == KEPT) & (F.row_number().over(equal) > 1)
    return pairs.withColumn("verdict", F.when(is_later, verdict).otherwise(F.col("verdict")))


def _samples(
    pairs: DataFrame, summaries: Sequence[ChunkSummary], ends: Sequence[int], shown: dict[int, list[int]]
) -> list[Dropped]:
    """Returns the pairs that are shown, by the numbers of those of each verdict."""
    numbers = [number for some in shown.values() for number in some]
    rows = pairs.where(F.col("number").isin(numbers)).select("number", "line", "source", "target").collect()
    found = {row.number: row for row in rows}
    samples = []
    for verdict, some in shown.items():
        for number in some:
            row, chunk = found[number], summaries[int(np.searchsorted(ends, number, side="right"))]
            samples.append(dropped_pair(REASONS[verdict], chunk.place_of(row.line), (row.source, row.target)))
    return samples
