"""Cleaning one chunk of raw text: decoding, normalising, filtering, and hashing what is left."""

from __future__ import annotations

import functools
import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import regex
from numpy.typing import NDArray

from trainer.data.prepared.array_file import encoded_arrays, mapped_arrays
from trainer.data.prepared.shard_arrays import MappedText, text_arrays
from trainer.data.samples import Pair
from trainer.files.atomic import replaced
from trainer.preparing.cleaning.filters import Reason, Test, filters_of
from trainer.preparing.cleaning.normalise import normaliser
from trainer.preparing.errors import PreparationError
from trainer.preparing.sources.chunks import RawChunk
from trainer.settings.preparation import PreparationSettings

HashKind = Literal["exact", "near"]
"""Which hashes of `CleanedChunk` are meant."""
SAMPLES = 5
"""How many of the pairs that are left out for a reason are shown."""
SAMPLE_CHARACTERS = 200
INSIGNIFICANT_ASCII = bytes(one for one in range(128) if not chr(one).isalnum() and one != 10)
INSIGNIFICANT = regex.compile(r"[^\p{L}\p{N}\p{M}\n]+|[\u0300-\u036f]+")
"""Everything but letters, digits and marks; of the marks, the accents. The vowels of India's scripts are marks, too."""


@dataclass(frozen=True)
class Dropped:
    """A pair that was left out: why, where it was (file and line), and what it said."""

    reason: str
    place: str
    source: str
    target: str


def dropped_pair(reason: Reason, place: str, pair: Pair) -> Dropped:
    """Returns what is told of a pair that was left out: the beginning of both sides."""
    return Dropped(reason.value, place, pair[0][:SAMPLE_CHARACTERS], pair[1][:SAMPLE_CHARACTERS])


@dataclass(frozen=True)
class CleaningJob:
    """A chunk to clean, and the file for the result."""

    chunk: RawChunk
    settings: PreparationSettings
    result: Path


@dataclass(frozen=True)
class ChunkSummary:
    """What a preparation needs to know of a cleaned chunk beside its pairs.

    Attributes:
        split: The split that it belongs to.
        place: Where its lines are from: the file's name, and the number of the first line.
        read: How many pairs were read.
        kept: How many of them are left.
        dropped: How many were left out, by reason.
        samples: Some of those that were left out.
    """

    split: str
    place: tuple[str, int]
    read: int
    kept: int
    dropped: dict[str, int]
    samples: list[Dropped]

    def place_of(self, line: int) -> str:
        """Returns the file and the number of a line of the chunk. `line` counts from 0."""
        return f"{self.place[0]}:{self.place[1] + line}"

    def to_json(self) -> str:
        """Returns the summary as JSON, which `parse_summary` reads."""
        return json.dumps(asdict(self))


def parse_summary(content: str | bytes) -> ChunkSummary:
    """Returns the summary that `ChunkSummary.to_json` has written."""
    document = json.loads(content)
    place, samples = tuple(document["place"]), [Dropped(**one) for one in document["samples"]]
    return ChunkSummary(**{**document, "place": place, "samples": samples})


@dataclass(frozen=True)
class CleanedChunk:
    """A cleaned chunk.

    Attributes:
        summary: What was read, and what was left out.
        pairs: The pairs that are left.
        lines: The numbers of the lines that these were, from 0. Shape (pairs,).
        exact: A hash of each pair. Shape (pairs,).
        near: A hash that pairs share which differ in case, accents, punctuation and blanks only. Shape (pairs,).
    """

    summary: ChunkSummary
    pairs: Sequence[Pair]
    lines: NDArray[np.int64]
    exact: NDArray[np.uint64]
    near: NDArray[np.uint64]


def clean(job: CleaningJob) -> Path:
    """Cleans a chunk and writes the result, unless it is there already. Returns the file.

    Raises:
        PreparationError: A line is not UTF-8 or has too few columns, or a side is empty where it must not be.
    """
    if not job.result.exists():
        chunk = cleaned(job.chunk, job.settings)
        content, content_bytes = text_arrays(chunk.pairs)
        arrays: dict[str, NDArray[Any]] = {
            "text": content,
            "text_bytes": content_bytes,
            "lines": chunk.lines,
            "exact": chunk.exact,
            "near": chunk.near,
            "summary": np.frombuffer(chunk.summary.to_json().encode(), dtype=np.uint8),
        }
        with replaced(job.result) as temporary, temporary.open("wb") as file:
            file.writelines(encoded_arrays(arrays))
    return job.result


def cleaned(chunk: RawChunk, settings: PreparationSettings) -> CleanedChunk:
    """Returns a chunk cleaned.

    Raises:
        PreparationError: A line is not UTF-8 or has too few columns, or a side is empty where it must not be.
    """
    is_training = chunk.text.split == "train"
    tests = _tests(settings.model_dump_json(), is_training)
    kept, lines, dropped, samples = _filtered(chunk, settings, tests, is_training)
    place = (chunk.text.files[0], chunk.first)
    summary = ChunkSummary(chunk.text.split, place, len(chunk.lines[0]), len(kept), dropped, samples)
    return CleanedChunk(summary, kept, lines, *hashes(kept))


def read_cleaned(path: Path) -> CleanedChunk:
    """Returns what `clean` has written. Its arrays are mapped."""
    arrays = mapped_arrays(path)
    return CleanedChunk(
        parse_summary(arrays["summary"].tobytes()),
        MappedText(arrays["text"], arrays["text_bytes"]),
        arrays["lines"],
        arrays["exact"],
        arrays["near"],
    )


def read_hashes(path: Path, kind: HashKind) -> NDArray[np.uint64]:
    """Returns the hashes of the pairs of a cleaned chunk, mapped. Shape (pairs,)."""
    return mapped_arrays(path)[kind]


def hashes(pairs: Sequence[Pair]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns the hashes `exact` and `near` of pairs. Of 5 million pairs, it is unlikely (1e-6) that two share one."""
    whole = ["\n".join(pair) for pair in pairs]
    return _hashed(text.encode() for text in whole), _hashed(_significant(text) for text in whole)


def _hashed(texts: Iterable[bytes]) -> NDArray[np.uint64]:
    digests = b"".join([hashlib.blake2b(text, digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8")


def _significant(text: str) -> bytes:
    text = text.casefold()
    if text.isascii():
        return text.encode().translate(None, INSIGNIFICANT_ASCII)
    return bytes(INSIGNIFICANT.sub("", unicodedata.normalize("NFD", text)).encode())


@functools.lru_cache(maxsize=2)
def _tests(settings: str, is_training: bool) -> list[tuple[Reason, Test]]:
    every = filters_of(PreparationSettings.model_validate_json(settings))
    return every if is_training else every[:1]


def _filtered(
    chunk: RawChunk, settings: PreparationSettings, tests: list[tuple[Reason, Test]], is_training: bool
) -> tuple[list[Pair], NDArray[np.int64], dict[str, int], list[Dropped]]:
    kept: list[Pair] = []
    lines: list[int] = []
    counts: Counter[str] = Counter()
    samples: list[Dropped] = []
    mark = f"{chunk.text.tag} " if chunk.text.tag else ""
    for number, (source, target) in enumerate(_normalised(chunk, normaliser(settings.normalise))):
        reason = next((one for one, is_bad in tests if is_bad(source, target)), None)
        if reason is None:
            kept.append((mark + source, target))
            lines.append(number)
            continue
        place = f"{chunk.text.files[0]}:{chunk.first + number}"
        if reason is Reason.EMPTY and (settings.filters.empty == "refuse" or not is_training):
            raise PreparationError(f"{place}: one side of the pair is empty: {source!r} and {target!r}")
        counts[reason.value] += 1
        if counts[reason.value] <= SAMPLES:
            samples.append(dropped_pair(reason, place, (source, target)))
    return kept, np.array(lines, dtype=np.int64), dict(counts), samples


def _normalised(chunk: RawChunk, normalised: Callable[[str], str]) -> Iterator[Pair]:
    text = chunk.text
    sides = [_decoded(text.files[min(side, len(text.files) - 1)], chunk.first, lines) for side, lines in
             enumerate(chunk.lines)]  # fmt: skip
    if text.kind == "tsv":
        sides = _columns(chunk, sides[0])
    for source, target in zip(*sides, strict=True):
        yield normalised(source), normalised(target)


def _decoded(name: str, first: int, lines: list[bytes]) -> list[str]:
    try:
        decoded = [line.decode() for line in lines]
    except UnicodeDecodeError:
        for number, line in enumerate(lines, start=first):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise PreparationError(
                    f"{name}, line {number}: not UTF-8 text ({error.reason} at byte {error.start}). Convert the file, "
                    "for example with iconv, or take the line out of both files"
                ) from error
    return decoded


def _columns(chunk: RawChunk, lines: list[str]) -> list[list[str]]:
    wanted = [int(column) - 1 for column in chunk.text.columns]
    rows = [line.rstrip("\r\n").split("\t") for line in lines]
    for number, row in enumerate(rows, start=chunk.first):
        if len(row) <= max(wanted):
            raise PreparationError(
                f"{chunk.text.files[0]}, line {number}: {len(row)} columns between tabs, and column {max(wanted) + 1} "
                "is needed"
            )
    return [[row[column] for row in rows] for column in wanted]
