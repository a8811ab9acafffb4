"""What a rank prepares before it trains, once for all the worlds that it will be part of."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoints import Checkpoints
from trainer.checkpoint.open_storage import open_storage
from trainer.checkpoint.origin import Origin, fingerprint
from trainer.checkpoint.storage import Storage
from trainer.data import corpus as corpora
from trainer.data.batch_stream import BatchStream
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.corpus.common import Corpus, Pair
from trainer.data.samples import Encoded, Sample, encode_pairs
from trainer.data.vocabulary import Vocabulary
from trainer.model.allocation import reuse_memory
from trainer.model.build import build
from trainer.model.transformer import TranslationModel
from trainer.optim.adam import Adam
from trainer.optim.gradient_buckets import GradientBuckets
from trainer.settings.training import Settings
from trainer.training.digest import training_digest
from trainer.training.errors import TrainingFailedError
from trainer.training.memory_preflight import largest_share_that_fits

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """Everything that one rank trains with.

    Attributes:
        parameters: The model's Gluon Parameters by name. The optimizer and the gradients have the same order.
        share_limit: The largest share of the global batch that this node's memory has room for; None: all of it.
        digest: What all ranks of one training have in common; see `training_digest`.
    """

    settings: Settings
    corpus: Corpus
    vocabulary: Vocabulary
    batches: BatchStream
    validation: list[Sample]
    share_limit: float | None
    model: TranslationModel
    parameters: dict[str, Any]
    adam: Adam
    gradients: GradientBuckets
    storage: Storage
    checkpoints: Checkpoints
    digest: str


def prepare(settings: Settings) -> Prepared:
    """Reads the corpus, learns the vocabulary, encodes the text and builds the model.

    Raises:
        TrainingFailedError: No pair is short enough to train on, or to validate on.
        NodeTooSmallError: The node's memory has no room for the model and one sentence.
        ValueError: The corpus, the vocabulary or the model cannot be made as the settings say.
    """
    reuse_memory()
    corpus = corpora.load(settings.corpus)
    texts = (text for pair in corpus.train for text in pair)
    vocabulary = Vocabulary.learn_or_load(texts, settings.vocabulary, Path(settings.cache).expanduser())
    batches = _training_batches(settings, corpus, vocabulary)
    validation = _validation_samples(settings, corpus, vocabulary)
    share_limit = largest_share_that_fits(settings.model, settings.batch, len(vocabulary), batches)
    model = build(settings.model, len(vocabulary))
    parameters: dict[str, Any] = dict(sorted(model.parameters().items()))
    optimizer = settings.optimizer
    storage = open_storage(settings.storage)
    origin = Origin(fingerprint(settings), vocabulary.digest, corpus.digest)
    return Prepared(
        settings=settings,
        corpus=corpus,
        vocabulary=vocabulary,
        batches=batches,
        validation=validation,
        share_limit=share_limit,
        model=model,
        parameters=parameters,
        adam=Adam(list(parameters.values()), optimizer.beta1, optimizer.beta2, optimizer.epsilon),
        gradients=GradientBuckets(list(parameters.values()), settings.horovod.bucket_mb),
        storage=storage,
        checkpoints=Checkpoints(storage, origin, settings.checkpoint.keep),
        digest=training_digest(settings, origin),
    )


def _training_batches(settings: Settings, corpus: Corpus, vocabulary: Vocabulary) -> BatchStream:
    limit, dropout = settings.batch.max_tokens, settings.vocabulary.dropout
    encoded = _encode(corpus.train, vocabulary, limit, "pairs")
    if not encoded.samples:
        raise TrainingFailedError(f"no training pair is within batch.max_tokens ({limit}): raise it")
    bpe_dropout = BpeDropout(vocabulary, dropout, settings.seed, limit) if dropout else None
    return BatchStream(encoded, settings.batch, settings.seed, vocabulary.pad_id, bpe_dropout)


def _validation_samples(settings: Settings, corpus: Corpus, vocabulary: Vocabulary) -> list[Sample]:
    limit, every = settings.batch.max_tokens, settings.stop.validate_every_steps
    samples = _encode(corpus.validation, vocabulary, limit, "validation pairs").samples
    if every and not samples:
        raise TrainingFailedError(
            f"stop.validate_every_steps is {every}, but no validation pair is within batch.max_tokens ({limit}): "
            "raise it, or validate never (0)"
        )
    return samples


def _encode(pairs: list[Pair], vocabulary: Vocabulary, limit: int, what: str) -> Encoded:
    """Encodes the pairs of at most `limit` ids on each side, and logs how many were left out."""
    encoded = encode_pairs(vocabulary, pairs, limit)
    if encoded.too_long:
        log.warning("%d of %d %s are longer than %d tokens and are left out",
                    encoded.too_long, len(pairs), what, limit)  # fmt: skip
    return encoded
