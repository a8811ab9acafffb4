"""What a training of so many steps has to have read: for tests that check that every step counted once."""

from __future__ import annotations

from pathlib import Path

from trainer.data.batch_stream import BatchStream
from trainer.preparing.on_the_way import prepare_on_the_way
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
    corpus = prepare_on_the_way(settings.corpus, settings.vocabulary, cache)
    vocabulary = corpus.vocabulary()
    feed = BatchStream(corpus.shards("train", vocabulary, False), settings.batch, settings.seed, vocabulary.pad_id)
    return sum(len(target) - 1 for step in range(steps) for _, target in feed.samples_at(step))
