"""Writing the files of a prepared corpus to a folder or to S3. The manifest comes last: it says that all is there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from trainer.data.prepared.array_file import encoded_arrays
from trainer.data.prepared.manifest import FILE_NAME, FileEntry, Manifest, ShardEntry, VocabularyEntry
from trainer.data.prepared.shard_arrays import ShardArrays, arrays_of_ids, arrays_of_text
from trainer.data.samples import Samples
from trainer.data.shard import length_counts
from trainer.data.vocabulary import FILE_NAME as VOCABULARY_NAME
from trainer.data.vocabulary import Vocabulary
from trainer.storage.storage import Storage

DIGITS_IN_NAME = 12


def write_shard(storage: Storage, split: str, number: int, shard: ShardArrays, vocabulary_pieces: int) -> ShardEntry:
    """Writes a shard. Its files have their digest in their names, so that none is ever changed.

    Args:
        storage: Where the corpus is written.
        split: The split that it is a part of.
        number: Its number in the split, from 0.
        shard: Its sentence pairs.
        vocabulary_pieces: How many pieces the vocabulary has. Ids take two bytes where that is enough.

    Raises:
        StorageError: It cannot be written.
    """
    samples = Samples.of_pieces(shard.ids, shard.pieces, 0, 0)
    lengths = length_counts(samples)
    return ShardEntry(
        pairs=len(shard),
        ids=_write(storage, f"{split}/{number:05d}", "ids", arrays_of_ids(shard.ids, shard.pieces, vocabulary_pieces)),
        text=_write(storage, f"{split}/{number:05d}", "text", arrays_of_text(shard.text, shard.text_bytes)),
        lengths=tuple((int(length), int(count)) for length, count in lengths),
    )


def write_vocabulary(storage: Storage, vocabulary: Vocabulary) -> VocabularyEntry:
    """Writes the vocabulary. Raises StorageError."""
    storage.put(VOCABULARY_NAME, vocabulary.model)
    entry = FileEntry(VOCABULARY_NAME, len(vocabulary.model), hashlib.sha256(vocabulary.model).hexdigest())
    return VocabularyEntry(entry, len(vocabulary), vocabulary.separate_sizes is not None)


def write_manifest(storage: Storage, manifest: Manifest) -> None:
    """Writes the manifest, when everything that it names is there. Raises StorageError."""
    storage.put(FILE_NAME, manifest.to_json().encode())


def _write(storage: Storage, stem: str, suffix: str, arrays: Mapping[str, NDArray[Any]]) -> FileEntry:
    digest, size = hashlib.sha256(), 0
    for part in encoded_arrays(arrays):
        digest.update(part)
        size += len(part)
    entry = FileEntry(f"{stem}-{digest.hexdigest()[:DIGITS_IN_NAME]}.{suffix}", size, digest.hexdigest())
    storage.write(entry.name, encoded_arrays(arrays))
    return entry
