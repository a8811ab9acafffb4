"""Measuring the model on the validation split: losses, and scores of translations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from trainer.data.batch import collate
from trainer.data.split import deal
from trainer.elastic.exchange import sum_vector
from trainer.elastic.world import World
from trainer.inference.chrf import character_score
from trainer.inference.score import score
from trainer.record.validation import Validation
from trainer.training.batch_arrays import arrays_of
from trainer.training.measuring.translating import translate_together
from trainer.training.prepare import Prepared

BATCH_SENTENCES = 64


def validate(prepared: Prepared, world: World, shares: Sequence[float], meet: Callable[[], None]) -> Validation:
    """Measures the model on the validation split. Collective: each rank takes a part in proportion to its share.

    Args:
        prepared: The training.
        world: The ranks that train together.
        shares: The share of each rank.
        meet: What all ranks do together after each batch that they translate; see `translate_together`.
    """
    losses = validation_losses(prepared, world, shares)
    pairs = prepared.validation_pairs
    if not pairs:
        return Validation(*losses)
    settings = prepared.settings.translate
    if prepared.settings.validation.decode == "greedy":
        settings = settings.model_copy(update={"beam_size": 1})
    hypotheses = translate_together(prepared, world, shares, [source for source, _ in pairs], settings, meet)
    references = [target for _, target in pairs]
    bleu = score(hypotheses, references, settings.tokenize, settings.lowercase).bleu
    return Validation(*losses, bleu, character_score(hypotheses, references, settings.lowercase).chrf)


def validation_losses(prepared: Prepared, world: World, shares: Sequence[float]) -> tuple[float, float]:
    """Returns the mean loss in nats per target token, with label smoothing and without it. Collective."""
    samples = prepared.validation
    parts = deal([len(target) for _, target in samples], shares)
    mine = sorted((samples[index] for index in parts[world.rank]), key=lambda sample: len(sample[1]))
    total = np.zeros(3)
    for start in range(0, len(mine), BATCH_SENTENCES):
        batch = collate(mine[start : start + BATCH_SENTENCES], prepared.vocabulary.pad_id)
        total += *prepared.model.losses(*arrays_of(batch)), batch.target_tokens
    total = sum_vector(total, "validation")
    return float(total[0] / total[2]), float(total[1] / total[2])


def probe_loss(prepared: Prepared) -> float:
    """Returns the summed loss of this rank's model on a few sentences, which are the same on all ranks.

    It is infinite where some parameter is not a finite number.
    """
    if not are_finite(prepared.parameters.values()):
        return float("inf")
    samples = prepared.validation[:BATCH_SENTENCES] or prepared.batches.samples_at(0)[:BATCH_SENTENCES]
    batch = collate(samples, prepared.vocabulary.pad_id)
    return float(prepared.model.loss(*arrays_of(batch))[0].asscalar())


def are_finite(parameters: Iterable[Any]) -> bool:
    """Returns whether these Gluon Parameters hold finite numbers alone."""
    return all(np.isfinite(parameter.data().asnumpy()).all() for parameter in parameters)
