"""The manifest of a prepared corpus: all that it has, with digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from trainer.data.shard import LengthCounts

FILE_NAME = "manifest.json"
FORMAT = 1
SPLITS = ("train", "validation", "test")


class PreparedCorpusError(ValueError):
    """A prepared corpus cannot be used. The message says which file, why, and what to do."""


@dataclass(frozen=True)
class FileEntry:
    """A file of the corpus: its name below the corpus, its size and the SHA-256 of its content, in hex."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ShardEntry:
    """One shard.

    Attributes:
        pairs: How many sentence pairs it has.
        ids: The file of its ids.
        text: The file of its text.
        lengths: How many of its samples have which length, as `trainer.data.shard.LengthCounts` says.
    """

    pairs: int
    ids: FileEntry
    text: FileEntry
    lengths: tuple[tuple[int, int], ...]

    @property
    def length_counts(self) -> LengthCounts:
        """The lengths as an array."""
        return np.array(self.lengths, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class VocabularyEntry:
    """The vocabulary that the ids are from.

    Attributes:
        file: Its file.
        pieces: The number of its pieces, of the larger one where there are two.
        separate: Whether there are two: one of the source, and one of the target.
    """

    file: FileEntry
    pieces: int
    separate: bool = False


@dataclass(frozen=True)
class Manifest:
    """What a prepared corpus has.

    Attributes:
        source: The language of the source sentences.
        target: The language of the target sentences.
        vocabulary: The vocabulary of both.
        splits: The shards of `train`, `validation` and `test`.
        prepared: How it was made: settings, sources and what the filters have dropped. Nothing is decided by it.
    """

    source: str
    target: str
    vocabulary: VocabularyEntry
    splits: Mapping[str, tuple[ShardEntry, ...]]
    prepared: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The SHA-256, in hex, of the pairs to train on and to validate on, and of their order."""
        digest = hashlib.sha256()
        for name in ("train", "validation"):
            for shard in self.splits[name]:
                digest.update(f"{name} {shard.ids.sha256} {shard.text.sha256}\n".encode())
        return digest.hexdigest()

    def pairs(self, split: str) -> int:
        """Returns how many sentence pairs a split has."""
        return sum(shard.pairs for shard in self.splits[split])

    def to_json(self) -> str:
        """Returns the manifest as it is written: as `manifest.schema.json` says."""
        document = {"schema": FORMAT, "digest": self.digest, **asdict(self)}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Returns the manifest that `to_json` has written.

    Args:
        content: The content of the file.
        where: The file's name, for messages.

    Raises:
        PreparedCorpusError: It is torn or changed, of another version, or names a file outside of the corpus.
    """
    try:
        document = json.loads(content)
        if document["schema"] != FORMAT:
            raise PreparedCorpusError(
                f"{where} is of format {document['schema']}, and this Centavo reads {FORMAT}: prepare the corpus again"
            )
        vocabulary = document["vocabulary"]
        manifest = Manifest(
            document["source"],
            document["target"],
            VocabularyEntry(
                _file(vocabulary["file"]), int(vocabulary["pieces"]), bool(vocabulary.get("separate", False))
            ),
            {name: tuple(parse_shard(one) for one in document["splits"][name]) for name in SPLITS},
            document["prepared"],
        )
        if document["digest"] != manifest.digest:
            raise PreparedCorpusError(f"{where} was changed: its digest is that of other shards")
    except PreparedCorpusError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PreparedCorpusError(f"{where} is no manifest of a prepared corpus, or it is torn ({error!r})") from error
    return manifest


def parse_shard(entry: Mapping[str, Any]) -> ShardEntry:
    """Returns a shard as the manifest has it."""
    lengths = tuple((int(length), int(count)) for length, count in entry["lengths"])
    return ShardEntry(int(entry["pairs"]), _file(entry["ids"]), _file(entry["text"]), lengths)


def _file(entry: Mapping[str, Any]) -> FileEntry:
    """Returns a file of the corpus. A name such as ../../.ssh/authorized_keys would be written outside of the cache."""
    file = FileEntry(**entry)
    path = PurePosixPath(file.name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise PreparedCorpusError(f"a prepared corpus names {file.name!r}, which does not lie in it")
    return file
