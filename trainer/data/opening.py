"""Opening a corpus that was prepared before the training, whatever its form."""

from __future__ import annotations

from pathlib import Path

from trainer.data.petastorm.corpus import open_petastorm
from trainer.data.prepared.prepared_corpus import PreparedCorpus, open_corpus
from trainer.settings.data import CorpusSettings


def open_prepared(settings: CorpusSettings, cache: Path) -> PreparedCorpus:
    """Opens a prepared corpus, or a data set of Petastorm.

    Args:
        settings: A corpus that `is_prepared`.
        cache: The folder in which this node keeps what it fetches.

    Raises:
        PreparedCorpusError: It is not there, or it cannot be read.
        ExtraMissingError: Petastorm is needed and not installed.
        StorageError: The storage does not answer.
    """
    assert settings.directory is not None, "the settings say where a prepared corpus is"
    if settings.kind == "petastorm":
        return open_petastorm(Path(settings.directory).expanduser(), cache)
    return open_corpus(settings.directory, cache)
