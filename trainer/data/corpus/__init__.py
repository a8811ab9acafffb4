"""Parallel text to train on: one module per kind of corpus, and `load`, which picks it."""

from __future__ import annotations

from collections.abc import Callable

from trainer.data.corpus import downloaded, files, generated, multi30k
from trainer.data.corpus.common import Corpus, CorpusError, CorpusSettings, Pair

__all__ = ["Corpus", "CorpusError", "CorpusSettings", "Pair", "load"]

_LOADERS: dict[str, Callable[[CorpusSettings], Corpus]] = {
    "generated": generated.load,
    "files": files.load,
    "multi30k": multi30k.load,
    "iwslt2015": downloaded.load_iwslt2015,
    "wmt2014": downloaded.load_wmt2014,
}


def load(settings: CorpusSettings) -> Corpus:
    """Read or make the corpus that `settings` names.

    Raises CorpusError when the kind is unknown, or the text is missing, empty, misaligned or not UTF-8.
    """
    if settings.kind not in _LOADERS:
        raise CorpusError(f"unknown corpus {settings.kind!r}; there are {', '.join(_LOADERS)}")
    corpus = _LOADERS[settings.kind](settings)
    for split in ("train", "validation", "test"):
        if not getattr(corpus, split):
            raise CorpusError(f"the {split} split of the corpus {corpus.name} is empty")
    return corpus
