"""Parallel text to train on: one module for each kind of corpus, and `load`, which picks it."""

from __future__ import annotations

from collections.abc import Callable

from trainer.data.corpus import downloaded, files, generated, multi30k
from trainer.data.corpus.common import Corpus, CorpusError
from trainer.settings.data import CorpusKind, CorpusSettings

_LOADERS: dict[CorpusKind, Callable[[CorpusSettings], Corpus]] = {
    "generated": generated.load,
    "files": files.load,
    "multi30k": multi30k.load,
    "iwslt2015": downloaded.load_iwslt2015,
    "wmt2014": downloaded.load_wmt2014,
}
"""How each kind of corpus is read. Prepared ones are opened by `trainer.data.prepared` and `trainer.data.petastorm`."""


def load(settings: CorpusSettings) -> Corpus:
    """Reads or makes the corpus that `settings` names.

    Raises:
        CorpusError: The text is missing, empty, misaligned or not UTF-8.
    """
    corpus = _LOADERS[settings.kind](settings)
    for split in ("train", "validation", "test"):
        if not getattr(corpus, split):
            raise CorpusError(f"the {split} split of the corpus {corpus.name} is empty")
    return corpus
