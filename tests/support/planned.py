"""What a training of so many steps has to have read: for tests that check that every step counted once."""

from __future__ import annotations

from pathlib import Path

from trainer.data.batch_stream import BatchStream
from trainer.data.corpus import load as load_corpus
from trainer.data.samples import encode_pairs
from trainer.data.vocabulary import Vocabulary
from trainer.settings.file import read


def planned_tokens(config: Path, cache: Path, steps: int) -> int:
    """Returns the target tokens of the global batches of the first `steps` steps.

    A sample that is left out or seen twice would change the number.

    Args:
        config: The settings of the training.
        cache: A folder for the vocabulary.
        steps: How many steps are made.
    """
    settings = read(config)
    corpus = load_corpus(settings.corpus)
    texts = (text for pair in corpus.train for text in pair)
    vocabulary = Vocabulary.learn_or_load(texts, settings.vocabulary, cache)
    encoded = encode_pairs(vocabulary, corpus.train, settings.batch.max_tokens)
    feed = BatchStream(encoded, settings.batch, settings.seed, vocabulary.pad_id)
    return sum(encoded.lengths[index][1] - 1 for step in range(steps) for index in feed.indices_at(step))
