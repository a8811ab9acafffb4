"""IWSLT 2015 (English-Vietnamese) and WMT 2014 (English-German) through GluonNLP's data sets, which download them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from trainer.data.corpus.common import Corpus, CorpusError, language_pair
from trainer.data.samples import Pair
from trainer.settings.data import CorpusSettings


def _read(dataset: str, settings: CorpusSettings, segment: str, languages: tuple[str, str]) -> list[Pair]:
    where: dict[str, str] = {}
    if settings.directory is not None:
        where["root"] = str(Path(settings.directory).expanduser())
    data_sets: Any = import_module("gluonnlp.data")  # takes seconds, which other corpora do not wait for
    try:
        data = getattr(data_sets, dataset)(segment, src_lang=languages[0], tgt_lang=languages[1], **where)
    except (OSError, RuntimeError) as error:
        raise CorpusError(
            f"the corpus {settings.kind} is not on this machine and cannot be downloaded ({error}). Connect to the "
            "network, set `directory` to a folder that has it, or use a corpus that needs none: `generated` or `files`"
        ) from error
    return [(source, target) for source, target in data if source.strip() and target.strip()]


def load_iwslt2015(settings: CorpusSettings) -> Corpus:
    """Reads English-Vietnamese talks: train, tst2012 for validation, tst2013 for the test."""
    languages = language_pair(settings, ("en", "vi"))
    splits = [_read("IWSLT2015", settings, segment, languages) for segment in ("train", "val", "test")]
    return Corpus("iwslt2015", *splits)


def load_wmt2014(settings: CorpusSettings) -> Corpus:
    """Reads English-German news: train, newstest2013 for validation, newstest2014 for the test."""
    languages = language_pair(settings, ("en", "de"))
    segments = ("train", "newstest2013", "newstest2014")
    splits = [_read("WMT2014", settings, segment, languages) for segment in segments]
    return Corpus("wmt2014", *splits)
