"""Opening a data set of Petastorm as a prepared corpus.

A node reads each shard through Petastorm's reader once, when it first needs it. The result is kept in the cache in the
form of `trainer.data.prepared` and checked against the manifest. So memory, order and resuming are as with any corpus.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from trainer.data.petastorm.extra import require_extra
from trainer.data.prepared.array_file import encoded_arrays
from trainer.data.prepared.corpus_files import FetchedFiles
from trainer.data.prepared.manifest import Manifest, PreparedCorpusError, parse_manifest
from trainer.data.prepared.prepared_corpus import MOST_MANIFEST_BYTES, PreparedCorpus
from trainer.data.prepared.shard_arrays import arrays_of_ids, arrays_of_text
from trainer.storage.directory import DirectoryStorage

FILE_NAME = "petastorm.json"
PAIRS = "pairs"
"""The folder of the pairs in Parquet."""


def open_petastorm(folder: Path, cache: Path) -> PreparedCorpus:
    """Opens a data set by its manifest. Nothing else of it is read yet.

    Args:
        folder: The folder of the data set.
        cache: The folder in which this node keeps the shards that it has read.

    Raises:
        ExtraMissingError: Petastorm is not installed.
        PreparedCorpusError: There is no manifest, or it cannot be read.
        StorageError: The folder cannot be read.
    """
    require_extra("corpus.kind: petastorm")
    content = DirectoryStorage(folder).get(FILE_NAME, MOST_MANIFEST_BYTES)
    if content is None:
        raise PreparedCorpusError(
            f"{folder} is no data set of Petastorm: {FILE_NAME} is missing. `python -m trainer prepare --engine spark "
            f"--petastorm {folder}` makes one, and continues one that was not finished"
        )
    manifest = parse_manifest(content, f"{folder}/{FILE_NAME}")
    files = FetchedFiles(ReadByPetastorm(folder, manifest), cache / "corpora" / manifest.digest[:24])
    return PreparedCorpus(str(folder), manifest, files)


class ReadByPetastorm:
    """The files of a prepared corpus, which are made of what Petastorm reads."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest
        self.location = str(folder)
        self._shards = {
            entry.name: (split, number)
            for split, shards in manifest.splits.items()
            for number, shard in enumerate(shards)
            for entry in (shard.ids, shard.text)
        }

    def open(self, name: str) -> BinaryIO | None:
        """Opens a file that the manifest names, or returns None where it is missing.

        Raises:
            PreparedCorpusError: Petastorm cannot read its shard.
            StorageError: The vocabulary cannot be read.
        """
        if name not in self._shards:
            return DirectoryStorage(self._folder).open(name)
        from trainer.data.petastorm.reading import pieces_of, text_of  # noqa: PLC0415 - needs the extra
        from trainer.data.petastorm.schema import shard_name  # noqa: PLC0415

        pairs, shard = self._folder / PAIRS, shard_name(*self._shards[name])
        arrays = (
            arrays_of_ids(*pieces_of(pairs, shard), self._manifest.vocabulary.pieces)
            if name.endswith(".ids")
            else arrays_of_text(*text_of(pairs, shard))
        )
        return io.BytesIO(b"".join(encoded_arrays(arrays)))
