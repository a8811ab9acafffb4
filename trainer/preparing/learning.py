"""The vocabulary of a prepared corpus: learned from a sample of the training text, or taken over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trainer.data.prepared.manifest import SPLITS
from trainer.data.vocabulary import Vocabulary, VocabularyError
from trainer.preparing.cleaning.chunk import read_cleaned
from trainer.preparing.destinations import Destinations
from trainer.preparing.errors import PreparationError
from trainer.preparing.sources.opening import open_file
from trainer.settings.preparation import LearningSettings

THREADS = 16
"""Threads of SentencePiece. They share out sums, so that another number of them learns other last digits."""


def learned(
    settings: LearningSettings, tags: Sequence[str], chunks: Sequence[Path], destinations: Destinations
) -> Vocabulary:
    """Returns the vocabulary that the settings ask for.

    Args:
        settings: What is learned, or which model is taken over.
        tags: The marks of the texts. Each is a piece.
        chunks: The files of the cleaned chunks.
        destinations: Where their pairs go: only pairs of the training split are learned from.

    Raises:
        PreparationError: The model that is to be taken over has no piece for a tag, or is none.
    """
    if settings.taken is not None:
        return taken_over(settings.taken, tags)
    try:
        learn = Vocabulary.learn_separately if settings.separate else Vocabulary.learn
        return learn(_sample(settings.sample, chunks, destinations), settings.size, settings.kind, tuple(tags), THREADS)
    except VocabularyError as error:
        raise PreparationError(f"{error}: set vocabulary.size in the settings, or name more text") from error


def _sample(most: int, chunks: Sequence[Path], destinations: Destinations) -> Iterator[str]:
    """Yields both sides of training pairs, at equal distances over the corpus, at most `most` sentences."""
    shards = [place for place, (split, _) in enumerate(destinations.shards) if split == SPLITS[0]]
    chosen = [np.flatnonzero((of >= shards[0]) & (of <= shards[-1])) for of in destinations.of_chunk]
    distance = max(1, -(-2 * sum(map(len, chosen)) // most))
    passed = 0
    for path, indices in zip(chunks, chosen, strict=True):
        pairs = read_cleaned(path).pairs
        for index in indices[-passed % distance :: distance]:
            yield from pairs[int(index)]
        passed += len(indices)


def taken_over(name: str, tags: Sequence[str]) -> Vocabulary:
    """Reads a SentencePiece model. Raises PreparationError where there is none, or where a tag is no piece of it.

    Args:
        name: A file, or s3://bucket/key.
        tags: The marks of the texts.
    """
    with open_file(name) as file:
        try:
            vocabulary = Vocabulary(file.read())
        except VocabularyError as error:
            raise PreparationError(f"vocabulary.taken: {name}: {error}") from error
    missing = [tag for tag in tags if not vocabulary.has_piece(tag)]
    if missing:
        raise PreparationError(
            f"vocabulary.taken: {name} has no piece {' and no piece '.join(missing)}: learn a vocabulary, or leave the "
            "tags out"
        )
    return vocabulary
