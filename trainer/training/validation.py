"""The loss of the validation split."""

from __future__ import annotations

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
