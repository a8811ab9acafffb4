"""The loss of the validation split, and of a few sentences of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trainer.data.batch import collate
from trainer.elastic.exchange import sum_vector
from trainer.elastic.world import World
from trainer.training.batch_arrays import arrays_of
from trainer.training.prepare import Prepared

BATCH_SENTENCES = 64


def validation_loss(prepared: Prepared, world: World) -> float:
    """Returns the mean loss in nats per target token. Collective: each rank computes a part of the split."""
    mine = sorted(prepared.validation[world.rank :: world.size], key=lambda sample: len(sample[1]))
    total = np.zeros(2)
    for start in range(0, len(mine), BATCH_SENTENCES):
        batch = collate(mine[start : start + BATCH_SENTENCES], prepared.vocabulary.pad_id)
        total += float(prepared.model.loss(*arrays_of(batch))[0].asscalar()), batch.target_tokens
    total = sum_vector(total, "validation")
    return float(total[0] / total[1])


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
