"""A whole preparation on Spark."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from trainer.data.petastorm.corpus import FILE_NAME, PAIRS
from trainer.data.prepared.array_file import encoded_arrays
from trainer.data.prepared.manifest import Manifest
from trainer.files.atomic import replaced, write_atomically
from trainer.preparing.corpus_writer import write_vocabulary
from trainer.preparing.destinations import Destinations, assign
from trainer.preparing.errors import PreparationError
from trainer.preparing.learning import sampled
from trainer.preparing.prepare import Preparation, manifest_of, prepare_by, present, shard_jobs, vocabulary_of
from trainer.preparing.report import report_of
from trainer.preparing.work_folder import WorkFolder
from trainer.settings.preparation import PreparationSettings
from trainer.spark.preparing.cleaning import clean_texts, read_cleaned_text
from trainer.spark.preparing.duplicates import find_duplicates
from trainer.spark.preparing.pairs import gather_shards, sentences_of, write_pairs
from trainer.spark.session import errors_of_tasks
from trainer.storage.directory import DirectoryStorage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Folders:
    """Where a preparation on Spark keeps what it has between its stages.

    Attributes:
        cleaned: The cleaned rows.
        chosen: What becomes of each pair, by its number: the arrays `places` and `is_sampled`.
        pairs: The data set of Petastorm.
        pairs_done: A file that names the folder of the data set when all of it is there.
    """

    cleaned: Path
    chosen: Path
    pairs: Path
    pairs_done: Path


def prepare_on_spark(spark: SparkSession, settings: PreparationSettings, kept: Path | None = None) -> Manifest:
    """Prepares a corpus on Spark. Its files are the same, byte for byte, as those of `prepare_corpus`.

    Args:
        spark: The session.
        settings: What is prepared, and how.
        kept: The folder for the data set of Petastorm; None: it is removed when the corpus is prepared.

    Raises:
        PreparationError: The text cannot be used, or another corpus is at the output or in the folder.
        StorageError: The output or a bucket does not answer.
        SparkError: Spark or one of its tasks has failed.
        OSError: The disk is full, or a file cannot be written.
    """
    with errors_of_tasks():
        manifest = prepare_by(functools.partial(_prepare, spark, kept), settings)
    if kept is not None and present(DirectoryStorage(kept), settings, FILE_NAME) != manifest:
        raise PreparationError(
            f"{settings.output} was prepared before, without a data set of Petastorm in {kept}: give another output to "
            "prepare it anew, or remove that one"
        )
    return manifest


def _prepare(spark: SparkSession, kept: Path | None, preparation: Preparation) -> Manifest:
    settings, work = preparation.settings, WorkFolder(preparation.work.path.absolute())
    folders, storage = _folders(work.path, kept), None if kept is None else DirectoryStorage(kept)
    if storage is not None:
        present(storage, settings, FILE_NAME)  # another corpus is told before anything is read
    log.info("the text is cleaned")
    clean_texts(spark, preparation.texts, settings, folders.cleaned)
    cleaned = read_cleaned_text(spark, folders.cleaned)
    log.info("chunks cleaned: %d", len(cleaned.summaries))
    verdicts = find_duplicates(cleaned.pairs, cleaned.summaries, settings.filters)
    destinations = assign(cleaned.summaries, verdicts.of_chunk, settings)
    _write_chosen(folders.chosen, destinations, sampled(settings.vocabulary.sample, destinations))
    vocabulary = vocabulary_of(preparation, sentences_of(cleaned.pairs, folders.chosen))
    if not _is_done(folders):
        if storage is not None:
            storage.delete(FILE_NAME)
        log.info("the pairs are encoded")
        write_pairs(spark, cleaned.pairs, destinations.shards, folders.chosen, work.vocabulary, folders.pairs)
        write_atomically(folders.pairs_done, str(folders.pairs))
    jobs = list(shard_jobs(_seen_by_all(settings.output), work, destinations, len(vocabulary)))
    entries = gather_shards(spark, jobs, folders.pairs)
    log.info("shards written: %d", len(entries))
    report = report_of(cleaned.summaries, verdicts)
    manifest = manifest_of(preparation, cleaned.read, report, vocabulary, destinations, entries)
    if storage is not None:
        write_vocabulary(storage, vocabulary)
        storage.put(FILE_NAME, manifest.to_json().encode())
    return manifest


def _folders(work: Path, kept: Path | None) -> Folders:
    pairs = work / "pairs" if kept is None else kept.absolute() / PAIRS
    return Folders(work / "cleaned", work / "chosen", pairs, work / "pairs-done")


def _is_done(folders: Folders) -> bool:
    """Returns whether an earlier try has written the whole data set to this folder."""
    is_told = folders.pairs_done.exists() and folders.pairs_done.read_text() == str(folders.pairs)
    return is_told and folders.pairs.exists()


def _write_chosen(path: Path, destinations: Destinations, sample: Sequence[NDArray[np.int64]]) -> None:
    is_sampled = []
    for places, indices in zip(destinations.of_chunk, sample, strict=True):
        of_chunk = np.zeros(len(places), dtype=np.uint8)
        of_chunk[indices] = 1
        is_sampled.append(of_chunk)
    arrays: dict[str, NDArray[Any]] = {
        "places": np.concatenate(destinations.of_chunk),
        "is_sampled": np.concatenate(is_sampled),
    }
    with replaced(path) as temporary, temporary.open("wb") as file:
        file.writelines(encoded_arrays(arrays))


def _seen_by_all(output: str) -> str:
    """Returns the output by a name that does not depend on the folder in which a task runs."""
    return output if "://" in output else str(Path(output).expanduser().absolute())
