"""What a rank prepares before it trains, once for all the worlds that it will be part of."""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.checkpoint.checkpoints import Checkpoints
from trainer.checkpoint.origin import Origin, fingerprint
from trainer.data.batch_stream import BatchStream
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.opening import open_prepared
from trainer.data.prepared.manifest import Manifest
from trainer.data.prepared.prepared_corpus import PreparedCorpus
from trainer.data.samples import Pair, Sample
from trainer.data.shard import ShardSource, within
from trainer.data.vocabulary import Vocabulary
from trainer.model.allocation import reuse_memory
from trainer.model.build import build
from trainer.model.transformer import TranslationModel
from trainer.optim.adam import Adam
from trainer.optim.gradient_buckets import GradientBuckets
from trainer.preparing.on_the_way import prepare_on_the_way
from trainer.settings.training import Settings
from trainer.storage.opening import open_storage
from trainer.storage.storage import Storage
from trainer.training.digest import training_digest
from trainer.training.errors import TrainingFailedError
from trainer.training.memory_preflight import check_memory, largest_share_that_fits

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """Everything that one rank trains with.

    Attributes:
        manifest: What the corpus has.
        validation: The samples of the validation split.
        validation_pairs: The sentence pairs that are translated at every validation; none where it only has a loss.
        test: The sentence pairs that are translated at the end.
        parameters: The model's Gluon Parameters by name. The optimizer and the gradients have the same order.
        share_limit: The largest share of the global batch that this node's memory has room for; None: all of it.
        digest: What all ranks of one training have in common; see `training_digest`.
    """

    settings: Settings
    vocabulary: Vocabulary
    manifest: Manifest
    batches: BatchStream
    validation: list[Sample]
    validation_pairs: list[Pair]
    test: list[Pair]
    share_limit: float | None
    model: TranslationModel
    parameters: dict[str, Any]
    adam: Adam
    gradients: GradientBuckets
    storage: Storage
    checkpoints: Checkpoints
    digest: str


def prepare(settings: Settings) -> Prepared:
    """Opens the corpus, which is prepared first where it is small and is not prepared yet, and builds the model.

    Raises:
        TrainingFailedError: No pair is short enough to train on, or to validate on.
        NodeTooSmallError: The node's memory has no room for the model and one sentence.
        ValueError: The corpus, the vocabulary or the model cannot be made as the settings say.
        StorageError: The corpus cannot be fetched.
    """
    reuse_memory()
    corpus = _corpus(settings)
    check_memory(settings, corpus.manifest)
    vocabulary = corpus.vocabulary()
    batches = _training_batches(settings, corpus, vocabulary)
    share_limit = largest_share_that_fits(settings, corpus.manifest, batches.batch_tokens)
    model = build(settings.model, len(vocabulary), separate=vocabulary.separate_sizes)
    parameters: dict[str, Any] = dict(sorted(model.parameters().items()))
    optimizer = settings.optimizer
    storage = open_storage(settings.storage)
    origin = Origin(fingerprint(settings), vocabulary.digest, corpus.manifest.digest)
    return Prepared(
        settings=settings,
        vocabulary=vocabulary,
        manifest=corpus.manifest,
        batches=batches,
        validation=_validation_samples(settings, corpus, vocabulary),
        validation_pairs=_validation_pairs(settings, corpus, vocabulary),
        test=_pairs(corpus, "test", vocabulary, settings.translate.test_sentences),
        share_limit=share_limit,
        model=model,
        parameters=parameters,
        adam=Adam(list(parameters.values()), optimizer.beta1, optimizer.beta2, optimizer.epsilon),
        gradients=GradientBuckets(list(parameters.values()), settings.horovod.bucket_mb),
        storage=storage,
        checkpoints=Checkpoints(storage, origin, settings.checkpoint.keep),
        digest=training_digest(settings, origin),
    )


def _corpus(settings: Settings) -> PreparedCorpus:
    cache = Path(settings.cache).expanduser()
    if settings.corpus.is_prepared:
        return open_prepared(settings.corpus, cache)
    check_memory(settings, None)
    return prepare_on_the_way(settings.corpus, settings.vocabulary, cache)


def _training_batches(settings: Settings, corpus: PreparedCorpus, vocabulary: Vocabulary) -> BatchStream:
    limit, dropout = settings.batch.max_tokens, settings.vocabulary.dropout
    shards = corpus.shards("train", vocabulary, with_text=dropout > 0)
    if not _tell_too_long(shards, limit, "pairs"):
        raise TrainingFailedError(f"no training pair is within batch.max_tokens ({limit}): raise it")
    if dropout and not vocabulary.is_bpe:
        raise TrainingFailedError(
            "vocabulary.dropout leaves out merges of byte pairs, and this vocabulary has none: set it to 0, or prepare "
            "the corpus with vocabulary.kind: bpe"
        )
    bpe_dropout = BpeDropout(vocabulary, dropout, settings.seed, limit) if dropout else None
    return BatchStream(shards, settings.batch, settings.seed, vocabulary.pad_id, bpe_dropout)


def _validation_samples(settings: Settings, corpus: PreparedCorpus, vocabulary: Vocabulary) -> list[Sample]:
    limit, every = settings.batch.max_tokens, settings.stop.validate_every_steps
    shards = corpus.shards("validation", vocabulary, with_text=False)
    if not _tell_too_long(shards, limit, "validation pairs") and every:
        raise TrainingFailedError(
            f"stop.validate_every_steps is {every}, but no validation pair is within batch.max_tokens ({limit}): "
            "raise it, or validate never (0)"
        )
    return [sample for shard in shards.all() for sample in shard.within(limit).samples]


def _validation_pairs(settings: Settings, corpus: PreparedCorpus, vocabulary: Vocabulary) -> list[Pair]:
    if settings.validation.decode == "none":
        return []
    pairs = _pairs(corpus, "validation", vocabulary, settings.validation.sentences)
    if not pairs:
        raise TrainingFailedError(
            f"validation.decode is {settings.validation.decode}, but the corpus has no pair for validation: set it to "
            "none"
        )
    return pairs


def _pairs(corpus: PreparedCorpus, split: str, vocabulary: Vocabulary, most: int | None) -> list[Pair]:
    """Returns the first `most` pairs of a split as text; None: all."""
    texts = (shard.texts for shard in corpus.shards(split, vocabulary, with_text=True).all())
    pairs = (text[index] for text in texts if text is not None for index in range(len(text)))
    return list(itertools.islice(pairs, most))


def _tell_too_long(shards: ShardSource, limit: int, what: str) -> int:
    """Logs how many pairs have more than `limit` ids on a side. Returns how many have no more."""
    pairs = sum(int(one[:, 1].sum()) for one in shards.length_counts)
    kept = sum(int(within(one, limit)[:, 1].sum()) for one in shards.length_counts)
    if kept < pairs:
        log.warning("%d of %d %s are longer than %d tokens and are left out", pairs - kept, pairs, what, limit)
    return kept
