"""What every corpus is made of: pairs of sentences in three splits, and the settings that choose one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Pair = tuple[str, str]
Kind = Literal["generated", "files", "multi30k", "iwslt2015", "wmt2014"]
Text = Literal["raw", "lc.norm.tok"]


class CorpusError(ValueError):
    """A corpus that cannot be used; says which file, which line, and what to do."""


@dataclass(frozen=True)
class CorpusSettings:
    """Which corpus to train on: `kind` is generated, files, multi30k, iwslt2015 or wmt2014.

    `source` and `target`: the languages, en and pt for `generated` (either direction), en and de for `multi30k`
    and `wmt2014`, en and vi for `iwslt2015`.

    `pairs` (training pairs), `held_out` (pairs in validation and in test, each) and `seed` are for `generated`;
    `directory` and `text` for `multi30k`; `train`, `validation` and `test`, each a source file and a target
    file, plain or .gz, for `files`; `directory` says where `iwslt2015` and `wmt2014` keep their downloads.
    """

    kind: Kind = "generated"
    source: str = "en"
    target: str = "pt"
    seed: int = 1
    pairs: int = 40_000
    held_out: int = 1_000
    directory: str | None = None
    text: Text = "lc.norm.tok"
    train: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs (source, target) in three splits that share no pair."""

    name: str
    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of the training and the validation pairs, in their order."""
        digest = hashlib.sha256()
        for pairs in (self.train, self.validation):
            for source, target in pairs:
                digest.update(f"{source}\n{target}\n".encode())
            digest.update(b"\n")
        return digest.hexdigest()


def language_pair(settings: CorpusSettings, *known: tuple[str, str]) -> tuple[str, str]:
    """The source and target language of `settings`, when either direction of `known` has them; else CorpusError."""
    wanted = (settings.source, settings.target)
    for pair in known:
        if wanted in (pair, pair[::-1]):
            return wanted
    offered = " or ".join(f"{source}-{target}" for source, target in known)
    raise CorpusError(f"the corpus {settings.kind} has {offered} (either direction), not {wanted[0]}-{wanted[1]}")
