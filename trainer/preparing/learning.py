"""The vocabulary of a prepared corpus: learned from a sample of the training text, or taken over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.data.prepared.manifest import SPLITS
from trainer.data.vocabulary import Vocabulary, VocabularyError
from trainer.preparing.cleaning.chunk import read_cleaned
from trainer.preparing.destinations import Destinations
from trainer.preparing.errors import PreparationError
from trainer.preparing.sources.opening import open_file
from trainer.settings.preparation import LearningSettings

THREADS = 16
"""Threads of SentencePiece. They share out sums, so that another number of them learns other last digits."""


def learned(settings: LearningSettings, tags: Sequence[str], sentences: Iterable[str]) -> Vocabulary:
    """Returns the vocabulary that the settings ask for.

    Args:
        settings: What is learned, or which model is taken over.
        tags: The marks of the texts. Each is a piece.
        sentences: The text to learn from, both sides of the pairs that `sampled` names. It is read only where a
            vocabulary is learned.

    Raises:
        PreparationError: The model that is to be taken over has no piece for a tag, or is none.
    """
    if settings.taken is not None:
        return taken_over(settings.taken, tags)
    try:
        learn = Vocabulary.learn_separately if settings.separate else Vocabulary.learn
        return learn(sentences, settings.size, settings.kind, tuple(tags), THREADS)
    except VocabularyError as error:
        raise PreparationError(f"{error}: set vocabulary.size in the settings, or name more text") from error


def sampled(most: int, destinations: Destinations) -> list[NDArray[np.int64]]:
    """Returns which pairs of each chunk are learned from.

    They are pairs of the training split at equal distances over the corpus.

    Args:
        most: The most sentences. A pair has two.
        destinations: Where the pairs go.

    Returns:
        For each chunk, the indices of its chosen pairs, in their order.
    """
    shards = [place for place, (split, _) in enumerate(destinations.shards) if split == SPLITS[0]]
    chosen = [np.flatnonzero((of >= shards[0]) & (of <= shards[-1])) for of in destinations.of_chunk]
    distance = max(1, -(-2 * sum(map(len, chosen)) // most))
    passed = np.cumsum([0, *map(len, chosen)]).tolist()  # training pairs before each chunk
    wanted = [indices[-before % distance :: distance] for before, indices in zip(passed[:-1], chosen, strict=True)]
    return [indices.copy() for indices in wanted]  # without the others, of which they would be views


def sentences_of(chunks: Sequence[Path], sample: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    """Yields both sides of the sampled pairs, from the files of the cleaned chunks."""
    for path, indices in zip(chunks, sample, strict=True):
        pairs = read_cleaned(path).pairs
        for index in indices:
            yield from pairs[int(index)]


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
