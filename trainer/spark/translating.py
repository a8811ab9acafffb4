"""Translating a column of a DataFrame, and scoring it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from trainer.data.vocabulary import Vocabulary
from trainer.inference.score import Score, Statistics, statistics_of
from trainer.inference.trained import load_trained
from trainer.inference.translate import translate
from trainer.model.transformer import TranslationModel
from trainer.settings.training import TranslateSettings
from trainer.spark.session import SparkError

STATISTICS = "sentences long, equal long, words array<long>, correct array<long>, total array<long>, signature string"


def translate_dataframe(
    frame: DataFrame,
    model: Path,
    settings: TranslateSettings,
    column: str = "source",
    into: str = "translation",
) -> DataFrame:
    """Returns a DataFrame with the translations of a column. Each worker of Spark loads the model once.

    Args:
        frame: The sentences. A missing one counts as an empty one.
        model: A folder with model.params, model.json and vocabulary, which every worker sees.
        settings: The beam search.
        column: The column of the sentences.
        into: The column for their translations.

    Raises:
        SparkError: The DataFrame has no such column, or has one for the translations already.
        ValueError: Model and vocabulary are not of the same training.
    """
    _check_columns(frame, column)
    if into in frame.columns:
        raise SparkError(f"there is a column {into} already: name another one for the translations")
    load_trained(model)  # an error is told before any task runs
    schema = StructType([*frame.schema.fields, StructField(into, StringType())])
    task = functools.partial(_translated, model.absolute(), settings.model_dump_json(), column, into)
    return frame.mapInPandas(task, schema)


def score_dataframe(
    frame: DataFrame, hypotheses: str, references: str, tokenize: str = "13a", lowercase: bool = False
) -> Score:
    """Returns the score of a column of translations. It is the one that `score` gives for all of them.

    Args:
        frame: The translations and what they should be. A missing sentence counts as an empty one.
        hypotheses: The column of the translations.
        references: The column of what they should be.
        tokenize: How sacreBLEU cuts text into words: "none" for text that is tokenised already.
        lowercase: Whether sacreBLEU ignores case.

    Raises:
        SparkError: The DataFrame has no such column, or no row.
    """
    _check_columns(frame, hypotheses, references)
    task = functools.partial(_counted, hypotheses, references, tokenize, lowercase)
    parts = frame.select(hypotheses, references).mapInPandas(task, STATISTICS).collect()
    if not parts:
        raise SparkError("there is no translation to score")
    return functools.reduce(operator.add, map(_statistics, parts)).score()


def _check_columns(frame: DataFrame, *columns: str) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise SparkError(f"there is no column {' and no column '.join(missing)}; there are {', '.join(frame.columns)}")


def _translated(
    model: Path, settings: str, column: str, into: str, batches: Iterable[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    loaded, vocabulary = _trained(model)
    for batch in batches:
        sentences = batch[column].fillna("").tolist()
        translations = translate(loaded, vocabulary, sentences, TranslateSettings.model_validate_json(settings))
        yield batch.assign(**{into: translations})


def _counted(
    hypotheses: str, references: str, tokenize: str, lowercase: bool, batches: Iterable[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    for batch in batches:
        if len(batch):
            found, wanted = (batch[column].fillna("").tolist() for column in (hypotheses, references))
            counted = statistics_of(found, wanted, tokenize, lowercase)
            yield pd.DataFrame([astuple(counted)], columns=[part.split()[0] for part in STATISTICS.split(", ")])


def _statistics(row: tuple[object, ...]) -> Statistics:
    """Returns statistics as a task has sent them."""
    sentences, equal, words, correct, total, signature = row
    return Statistics(sentences, equal, tuple(words), tuple(correct), tuple(total), signature)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1)
def _trained(folder: Path) -> tuple[TranslationModel, Vocabulary]:
    return load_trained(folder)
