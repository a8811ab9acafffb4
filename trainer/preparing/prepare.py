"""A whole preparation: clean, find duplicates, learn the vocabulary, encode, write shards, and the manifest last."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from trainer.data.prepared.manifest import FILE_NAME, SPLITS, Manifest, ShardEntry, parse_manifest
from trainer.data.vocabulary import Vocabulary
from trainer.files.atomic import write_atomically
from trainer.preparing.cleaning.chunk import CleaningJob, clean, read_cleaned
from trainer.preparing.cleaning.filters import filters_of
from trainer.preparing.corpus_writer import write_manifest, write_vocabulary
from trainer.preparing.destinations import Destinations, assign
from trainer.preparing.duplicates import find_duplicates
from trainer.preparing.encoding import EncodingJob, encode
from trainer.preparing.errors import PreparationError
from trainer.preparing.gathering import ShardJob, gather, gathering_jobs
from trainer.preparing.learning import learned, sampled, sentences_of
from trainer.preparing.pool import Pool, pool
from trainer.preparing.report import report_of
from trainer.preparing.sources.chunks import ReadFile, chunks_of
from trainer.preparing.sources.listing import Text, texts_of
from trainer.preparing.sources.opening import size_and_digest
from trainer.preparing.work_folder import NOT_SHAPING, WorkFolder, work_folder
from trainer.settings.preparation import PreparationSettings
from trainer.storage.opening import open_storage
from trainer.storage.storage import Storage

log = logging.getLogger(__name__)

TOLD_EVERY_S = 10.0
R = TypeVar("R")


@dataclass(frozen=True)
class Preparation:
    """What is prepared: settings, texts in the order of the corpus, and where unfinished and finished work go."""

    settings: PreparationSettings
    texts: Sequence[Text]
    work: WorkFolder
    storage: Storage


Engine = Callable[[Preparation], Manifest]
"""Writes all files of a corpus but the manifest, which it returns. Every engine writes the same bytes."""


@dataclass(frozen=True)
class Cleaned:
    """All chunks, cleaned: their files in the order of the corpus, and the raw files that were read."""

    chunks: list[Path]
    read: list[ReadFile]


def prepare_corpus(settings: PreparationSettings, processes: int) -> Manifest:
    """Prepares a corpus in so many processes. The result is the same for any number of them. See `prepare_by`."""

    def engine(preparation: Preparation) -> Manifest:
        with pool(processes) as workers:
            return _prepare(preparation, workers)

    return prepare_by(engine, settings)


def prepare_by(engine: Engine, settings: PreparationSettings) -> Manifest:
    """Prepares a corpus. What an earlier try has left is continued; a corpus that is there already is returned.

    Args:
        engine: Does the work.
        settings: What is prepared, and how.

    Returns:
        The manifest of the corpus, which is whole by now.

    Raises:
        PreparationError: The text cannot be used, or another corpus is at the output.
        StorageError: The output or a bucket does not answer.
        OSError: The disk is full, or a file cannot be written.
    """
    storage = open_storage(settings.output)
    texts = [text for split in SPLITS for text in texts_of(settings, split)]
    filters_of(settings)  # a package that is missing is told before anything is read
    with work_folder(settings, texts) as work:
        if (there := present(storage, settings)) is not None:
            _check_text(there, texts, settings.output)
            log.info("%s is prepared already", settings.output)
            return there
        manifest = engine(Preparation(settings, texts, work, storage))
        present(storage, settings)  # another machine may have come before this one
        write_manifest(storage, manifest)
        return manifest


def present(storage: Storage, settings: PreparationSettings, name: str = FILE_NAME) -> Manifest | None:
    """Returns the manifest that is there under `name`. Raises PreparationError where it is that of another corpus."""
    content = storage.get(name)
    if content is None:
        return None
    manifest = parse_manifest(content, f"{storage.location}/{name}")
    if manifest.prepared.get("settings") != _described(settings):
        raise PreparationError(
            f"{storage.location} has a corpus already that was prepared with other settings: give another output, or "
            "remove that one"
        )
    return manifest


def _check_text(there: Manifest, texts: Sequence[Text], output: str) -> None:
    """Raises PreparationError where the corpus that is there was made of other text than is named now."""
    made_of = {file["name"]: (file["bytes"], file["sha256"]) for file in there.prepared["files"]}
    names = {name for text in texts for name in text.files}
    changed = [name for name in sorted(names) if made_of.get(name) != size_and_digest(name)]
    if changed or set(made_of) != names:
        one = changed[0] if changed else min(set(made_of) - names)
        raise PreparationError(
            f"{output} has a corpus already, which was prepared before {one} was changed, added or removed: give "
            "another output, or remove that one"
        )


def _described(settings: PreparationSettings) -> dict[str, Any]:
    """Returns the settings as the manifest has them."""
    return settings.model_dump(mode="json", exclude=NOT_SHAPING)


def _prepare(preparation: Preparation, workers: Pool) -> Manifest:
    """Prepares a corpus on this machine."""
    settings, texts, work = preparation.settings, preparation.texts, preparation.work
    cleaned = _clean(settings, texts, work, workers)
    summaries = [read_cleaned(path).summary for path in cleaned.chunks]
    verdicts = find_duplicates(cleaned.chunks, summaries, settings.filters)
    destinations = assign(summaries, verdicts.of_chunk, settings)
    report = report_of(summaries, verdicts)
    sample = sampled(settings.vocabulary.sample, destinations)
    vocabulary = vocabulary_of(preparation, sentences_of(cleaned.chunks, sample))
    encoded = _encode(cleaned, destinations, work, workers)
    entries = _gather(settings, encoded, destinations, len(vocabulary), work, workers)
    return manifest_of(preparation, cleaned.read, report, vocabulary, destinations, entries)


def vocabulary_of(preparation: Preparation, sentences: Iterable[str]) -> Vocabulary:
    """Returns the vocabulary, which is learned from `sentences` where an earlier try has left none."""
    settings, path = preparation.settings.vocabulary, preparation.work.vocabulary
    if path.exists():
        return Vocabulary.read(path)
    log.info("the vocabulary is learned" if settings.taken is None else "the vocabulary is taken over")
    vocabulary = learned(settings, sorted({text.tag for text in preparation.texts if text.tag}), sentences)
    write_atomically(path, vocabulary.model)
    return vocabulary


def manifest_of(
    preparation: Preparation,
    read: Sequence[ReadFile],
    report: dict[str, Any],
    vocabulary: Vocabulary,
    destinations: Destinations,
    entries: Sequence[ShardEntry],
) -> Manifest:
    """Writes the vocabulary, and returns the manifest of a corpus whose shards are written.

    Args:
        preparation: What was prepared.
        read: The files that were read, in the order of the corpus.
        report: What the filters have done.
        vocabulary: The vocabulary.
        destinations: Where the pairs went.
        entries: What the manifest says about the shards of all splits, in the order of `destinations.shards`.
    """
    settings = preparation.settings
    prepared = {"settings": _described(settings), "files": [asdict(file) for file in read], "filters": report}
    by_split = {
        split: tuple(entry for entry, (of, _) in zip(entries, destinations.shards, strict=True) if of == split)
        for split in SPLITS
    }
    entry = write_vocabulary(preparation.storage, vocabulary)
    return Manifest(settings.source, settings.target, entry, by_split, prepared)


def _clean(settings: PreparationSettings, texts: Sequence[Text], work: WorkFolder, workers: Pool) -> Cleaned:
    read: list[ReadFile] = []
    chunks = (chunk for text in texts for chunk in chunks_of(text, read))
    jobs = (CleaningJob(chunk, settings, work.cleaned(number)) for number, chunk in enumerate(chunks))
    return Cleaned(list(_told("chunks cleaned", workers.results(clean, jobs))), read)


def _encode(cleaned: Cleaned, destinations: Destinations, work: WorkFolder, workers: Pool) -> list[Path]:
    places = zip(cleaned.chunks, destinations.of_chunk, strict=True)
    jobs = (
        EncodingJob(path, shard_of, len(destinations.shards), work.vocabulary, work.encoded(number))
        for number, (path, shard_of) in enumerate(places)
    )
    return list(_told("chunks encoded", workers.results(encode, jobs)))


def shard_jobs(output: str, work: WorkFolder, destinations: Destinations, pieces: int) -> Iterator[ShardJob]:
    """Yields the shards to write at `output`, for a vocabulary of so many pieces."""
    for place, (split, number) in enumerate(destinations.shards):
        yield ShardJob(place, split, number, pieces, output, work.shard(place))


def _gather(
    settings: PreparationSettings,
    encoded: Sequence[Path],
    destinations: Destinations,
    pieces: int,
    work: WorkFolder,
    workers: Pool,
) -> list[ShardEntry]:
    shards = shard_jobs(settings.output, work, destinations, pieces)
    written = workers.results(gather, gathering_jobs(shards, encoded, settings.shard_pairs))
    return list(_told("shards written", itertools.chain.from_iterable(written)))


def _told(what: str, results: Iterable[R]) -> Iterator[R]:
    """Passes results on, and logs now and then how many there are."""
    count, told_at = 0, time.monotonic()
    for result in results:
        count += 1
        if time.monotonic() - told_at > TOLD_EVERY_S:
            told_at = time.monotonic()
            log.info("%s: %d", what, count)
        yield result
    log.info("%s: %d", what, count)
