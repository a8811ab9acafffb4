"""What every corpus is: pairs of sentences in three splits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from trainer.data.samples import Pair
from trainer.settings.data import CorpusSettings


class CorpusError(ValueError):
    """A corpus cannot be used. The message says which file, which line, and what to do."""


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs (source, target) in three splits that share no pair."""

    name: str
    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]

    @property
    def digest(self) -> str:
        """The SHA-256, in hex, of the training and the validation pairs in their order."""
        digest = hashlib.sha256()
        for pairs in (self.train, self.validation):
            for source, target in pairs:
                digest.update(f"{source}\n{target}\n".encode())
            digest.update(b"\n")
        return digest.hexdigest()


def language_pair(settings: CorpusSettings, *known: tuple[str, str]) -> tuple[str, str]:
    """Returns the source and the target language. Raises CorpusError if neither direction of `known` has them."""
    wanted = (settings.source, settings.target)
    for pair in known:
        if wanted in (pair, pair[::-1]):
            return wanted
    offered = " or ".join(f"{source}-{target}" for source, target in known)
    raise CorpusError(f"the corpus {settings.kind} has {offered} (either direction), not {wanted[0]}-{wanted[1]}")
