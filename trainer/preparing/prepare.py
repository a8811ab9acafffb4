"""A whole preparation: clean, find duplicates, learn the vocabulary, encode, write shards, and the manifest last."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
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
from trainer.preparing.gathering import GatheringJob, gather
from trainer.preparing.learning import learned
from trainer.preparing.pool import Pool, pool
from trainer.preparing.report import report_of
from trainer.preparing.sources.chunks import ReadFile, chunks_of
from trainer.preparing.sources.listing import Text, texts_of
from trainer.preparing.work_folder import NOT_SHAPING, WorkFolder, work_folder
from trainer.settings.preparation import PreparationSettings
from trainer.storage.opening import open_storage
from trainer.storage.storage import Storage

log = logging.getLogger(__name__)

TOLD_EVERY_S = 10.0
R = TypeVar("R")


@dataclass(frozen=True)
class Cleaned:
    """All chunks, cleaned: their files in the order of the corpus, and the raw files that were read."""

    chunks: list[Path]
    read: list[ReadFile]


def prepare_corpus(settings: PreparationSettings, processes: int) -> Manifest:
    """Prepares a corpus. What an earlier try has left is continued; a corpus that is there already is returned.

    Args:
        settings: What is prepared, and how.
        processes: How many processes do it. The result is the same for any number of them.

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
    described = settings.model_dump(mode="json", exclude=NOT_SHAPING)
    with work_folder(settings, texts) as work, pool(processes) as workers:
        if (there := _present(storage, described)) is not None:
            log.info("%s is prepared already", settings.output)
            return there
        return _prepare(settings, texts, work, workers, storage)


def _present(storage: Storage, described: dict[str, Any]) -> Manifest | None:
    """Returns the manifest that is there. Raises PreparationError where it is that of another corpus."""
    content = storage.get(FILE_NAME)
    if content is None:
        return None
    manifest = parse_manifest(content, f"{storage.location}/{FILE_NAME}")
    if manifest.prepared.get("settings") != described:
        raise PreparationError(
            f"{storage.location} has a corpus already that was prepared with other settings: give another output, or "
            "remove that one"
        )
    return manifest


def _prepare(
    settings: PreparationSettings, texts: Sequence[Text], work: WorkFolder, workers: Pool, storage: Storage
) -> Manifest:
    cleaned = _clean(settings, texts, work, workers)
    chunks = [read_cleaned(path) for path in cleaned.chunks]
    verdicts = find_duplicates(chunks, settings.filters)
    destinations = assign(chunks, verdicts.of_chunk, settings)
    report = report_of(chunks, verdicts)
    vocabulary = _vocabulary(settings, texts, cleaned, destinations, work)
    encoded = _encode(cleaned, destinations, work, workers)
    entries = _gather(settings, encoded, destinations, len(vocabulary), work, workers)
    described = settings.model_dump(mode="json", exclude=NOT_SHAPING)
    prepared = {"settings": described, "files": [asdict(file) for file in cleaned.read], "filters": report}
    by_split = {
        split: tuple(entry for entry, (of, _) in zip(entries, destinations.shards, strict=True) if of == split)
        for split in SPLITS
    }
    manifest = Manifest(settings.source, settings.target, write_vocabulary(storage, vocabulary), by_split, prepared)
    write_manifest(storage, manifest)
    return manifest


def _clean(settings: PreparationSettings, texts: Sequence[Text], work: WorkFolder, workers: Pool) -> Cleaned:
    read: list[ReadFile] = []
    chunks = (chunk for text in texts for chunk in chunks_of(text, read))
    jobs = (CleaningJob(chunk, settings, work.cleaned(number)) for number, chunk in enumerate(chunks))
    return Cleaned(list(_told("chunks cleaned", workers.results(clean, jobs))), read)


def _vocabulary(
    settings: PreparationSettings, texts: Sequence[Text], cleaned: Cleaned, destinations: Destinations, work: WorkFolder
) -> Vocabulary:
    if work.vocabulary.exists():
        return Vocabulary.read(work.vocabulary)
    log.info("the vocabulary is learned" if settings.vocabulary.taken is None else "the vocabulary is taken over")
    tags = sorted({text.tag for text in texts if text.tag})
    vocabulary = learned(settings.vocabulary, tags, cleaned.chunks, destinations)
    write_atomically(work.vocabulary, vocabulary.model)
    return vocabulary


def _encode(cleaned: Cleaned, destinations: Destinations, work: WorkFolder, workers: Pool) -> list[Path]:
    places = zip(cleaned.chunks, destinations.of_chunk, strict=True)
    jobs = (
        EncodingJob(path, shard_of, len(destinations.shards), work.vocabulary, work.encoded(number))
        for number, (path, shard_of) in enumerate(places)
    )
    return list(_told("chunks encoded", workers.results(encode, jobs)))


def _gather(
    settings: PreparationSettings,
    encoded: Sequence[Path],
    destinations: Destinations,
    pieces: int,
    work: WorkFolder,
    workers: Pool,
) -> list[ShardEntry]:
    jobs = (
        GatheringJob(encoded, place, split, number, pieces, settings.output, work.shard(place))
        for place, (split, number) in enumerate(destinations.shards)
    )
    return list(_told("shards written", workers.results(gather, jobs)))


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
