"""Multi30k (Elliott et al. 2016, https://aclanthology.org/W16-3210): English-German captions, from a directory.

The directory has `train`, `val` and `test_2016_flickr`, each as `NAME.LANGUAGE.gz` (raw) and as
`NAME.lc.norm.tok.LANGUAGE.gz` (lower-cased, normalised, tokenised). Plain files, without .gz, are read too.
"""

from __future__ import annotations

from pathlib import Path

from trainer.data.corpus.common import Corpus, CorpusError, language_pair
from trainer.data.corpus.files import read_pairs
from trainer.data.samples import Pair
from trainer.settings.data import CorpusSettings

_NAMES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


def _find(directory: Path, stem: str, language: str) -> Path:
    candidates = [directory / f"{stem}.{language}.gz", directory / f"{stem}.{language}"]
    for path in candidates:
        if path.is_file():
            return path
    raise CorpusError(f"Multi30k: neither {candidates[0]} nor {candidates[1].name} is there; check `directory`")


def load(settings: CorpusSettings) -> Corpus:
    """Reads Multi30k from `settings.directory`. `settings.text` chooses raw or tokenised text."""
    source, target = language_pair(settings, ("en", "de"))
    if settings.directory is None:
        raise CorpusError("corpus `multi30k` needs `directory`, the folder with train.en.gz and the others")
    directory = Path(settings.directory).expanduser()
    suffix = "" if settings.text == "raw" else f".{settings.text}"

    def read(name: str) -> list[Pair]:
        stem = f"{_NAMES[name]}{suffix}"
        return read_pairs(_find(directory, stem, source), _find(directory, stem, target))

    return Corpus("multi30k", read("train"), read("validation"), read("test"))
