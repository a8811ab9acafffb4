"""Reading a prepared corpus: its vocabulary, and the shards of its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer.data.prepared.array_file import mapped_arrays
from trainer.data.prepared.corpus_files import CorpusFiles, FetchedFiles, FilesInFolder
from trainer.data.prepared.manifest import FILE_NAME, Manifest, PreparedCorpusError, ShardEntry, parse_manifest
from trainer.data.prepared.shard_arrays import MappedText
from trainer.data.samples import Samples
from trainer.data.shard import LengthCounts, Shard
from trainer.data.vocabulary import Vocabulary
from trainer.storage.directory import DirectoryStorage
from trainer.storage.opening import open_storage

MOST_MANIFEST_BYTES = 256 << 20


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus that is ready to be read.

    Attributes:
        location: The folder, or s3://bucket/prefix.
        manifest: What it has.
        files: Its files on this machine.
    """

    location: str
    manifest: Manifest
    files: CorpusFiles

    def vocabulary(self) -> Vocabulary:
        """Reads the vocabulary.

        Raises:
            PreparedCorpusError: The vocabulary is missing or is that of another corpus.
        """
        entry = self.manifest.vocabulary
        vocabulary = Vocabulary.read(self.files.path_of(entry.file))
        if len(vocabulary) != entry.pieces:
            raise PreparedCorpusError(
                f"the vocabulary of {self.location} has {len(vocabulary)} pieces, and its manifest says {entry.pieces}"
            )
        return vocabulary

    def shards(self, split: str, vocabulary: Vocabulary, with_text: bool) -> MappedShards:
        """Returns the shards of `train`, `validation` or `test`, with their text or without it."""
        return MappedShards(self.files, self.manifest.splits[split], vocabulary, with_text)


class MappedShards:
    """The shards of a split. Each is fetched, checked and mapped when it is opened."""

    def __init__(
        self, files: CorpusFiles, entries: Sequence[ShardEntry], vocabulary: Vocabulary, with_text: bool
    ) -> None:
        self._files, self._entries, self._vocabulary, self._with_text = files, entries, vocabulary, with_text
        self.length_counts: list[LengthCounts] = [entry.length_counts for entry in entries]

    def open(self, number: int) -> Shard:
        """Maps a shard.

        Raises:
            PreparedCorpusError: A file of it is missing or has other content.
            ArrayFileError: A file of it is of another form.
            StorageError: A file of it cannot be fetched.
        """
        entry, vocabulary = self._entries[number], self._vocabulary
        arrays = mapped_arrays(self._files.path_of(entry.ids))
        samples = Samples.of_pieces(arrays["ids"], arrays["pieces"], vocabulary.bos_id, vocabulary.eos_id)
        if not self._with_text:
            return Shard(number, samples, None)
        text = mapped_arrays(self._files.path_of(entry.text))
        return Shard(number, samples, MappedText(text["text"], text["text_bytes"]))

    def all(self) -> list[Shard]:
        """Maps all shards."""
        return [self.open(number) for number in range(len(self._entries))]


def open_corpus(location: str, cache: Path) -> PreparedCorpus:
    """Opens a prepared corpus by its manifest. Nothing else of it is read yet.

    Args:
        location: A folder, or s3://bucket/prefix.
        cache: The folder in which this node keeps what it fetches from S3.

    Raises:
        PreparedCorpusError: There is no manifest, or it cannot be read.
        StorageError: The storage does not answer.
    """
    storage = open_storage(location)
    content = storage.get(FILE_NAME, MOST_MANIFEST_BYTES)
    if content is None:
        raise PreparedCorpusError(
            f"{location} is no prepared corpus: {FILE_NAME} is missing. `python -m trainer prepare` makes one, and "
            "continues one that was not finished"
        )
    manifest = parse_manifest(content, f"{location}/{FILE_NAME}")
    if isinstance(storage, DirectoryStorage):
        return PreparedCorpus(location, manifest, FilesInFolder(Path(location).expanduser()))
    return PreparedCorpus(location, manifest, FetchedFiles(storage, cache / "corpora" / manifest.digest[:24]))
