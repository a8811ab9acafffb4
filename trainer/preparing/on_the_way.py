"""Preparing a small corpus when a training begins, so that nobody has to ask for it.

The result lies in the cache of the node, under the digest of what it was made of. All ranks of a node share it, and a
later training finds it there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from trainer.data import corpus as corpora
from trainer.data.corpus.common import Corpus
from trainer.data.prepared.manifest import FORMAT, SPLITS, Manifest, PreparedCorpusError, ShardEntry
from trainer.data.prepared.prepared_corpus import PreparedCorpus, open_corpus
from trainer.data.samples import Pair
from trainer.data.vocabulary import Vocabulary
from trainer.files.lock import only_one
from trainer.preparing.corpus_writer import write_manifest, write_shard, write_vocabulary
from trainer.preparing.encoding import encoded_pairs
from trainer.preparing.learning import taken_over
from trainer.preparing.scatter import shard_of, shards_for
from trainer.settings.data import CorpusSettings, VocabularySettings
from trainer.storage.directory import DirectoryStorage

PAIRS_PER_SHARD = 65_536
SEED = 1


def prepare_on_the_way(corpus: CorpusSettings, vocabulary: VocabularySettings, cache: Path) -> PreparedCorpus:
    """Reads or makes a corpus, and returns it prepared. Its vocabulary is learned from all of its text,
    or taken over.

    Args:
        corpus: Any corpus but a prepared one.
        vocabulary: The vocabulary to learn, or to take over.
        cache: Where the result is kept.

    Raises:
        CorpusError: The text cannot be used.
        VocabularyError: The vocabulary cannot be learned.
        PreparationError: The vocabulary cannot be taken over.
        StorageError: The cache cannot be written.
    """
    loaded = corpora.load(corpus)
    learned = _vocabulary(loaded, vocabulary, cache)
    folder = cache / "corpora" / _digest_of(loaded, learned)
    with only_one(folder.with_suffix(".lock")):
        try:
            return open_corpus(str(folder), cache)
        except PreparedCorpusError:
            _write(loaded, learned, corpus, DirectoryStorage(folder))
    return open_corpus(str(folder), cache)


def _vocabulary(corpus: Corpus, settings: VocabularySettings, cache: Path) -> Vocabulary:
    if settings.taken is not None:
        return taken_over(settings.taken, ())
    return Vocabulary.learn_or_load((text for pair in corpus.train for text in pair), settings, cache)


def _digest_of(corpus: Corpus, vocabulary: Vocabulary) -> str:
    digest = hashlib.sha256(f"{FORMAT} {PAIRS_PER_SHARD} {SEED} {vocabulary.digest} {corpus.digest}\n".encode())
    for pair in corpus.test:
        digest.update("{}\n{}\n".format(*pair).encode())
    return digest.hexdigest()[:24]


def _write(corpus: Corpus, vocabulary: Vocabulary, settings: CorpusSettings, storage: DirectoryStorage) -> None:
    splits = {name: _write_split(storage, name, getattr(corpus, name), vocabulary) for name in SPLITS}
    entry = write_vocabulary(storage, vocabulary)
    prepared = {"kind": settings.kind}
    write_manifest(storage, Manifest(settings.source, settings.target, entry, splits, prepared))


def _write_split(
    storage: DirectoryStorage, split: str, pairs: list[Pair], vocabulary: Vocabulary
) -> tuple[ShardEntry, ...]:
    count = shards_for(len(pairs), PAIRS_PER_SHARD)
    shards = shard_of(np.arange(len(pairs)), count, SEED)
    entries = []
    for number in range(count):
        chosen = [pairs[index] for index in np.flatnonzero(shards == number)]
        arrays = encoded_pairs(chosen, vocabulary)
        entries.append(write_shard(storage, split, number, arrays, len(vocabulary)))
    return tuple(entries)
