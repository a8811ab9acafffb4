"""A batch as the model takes it."""

from __future__ import annotations

from typing import Any

import mxnet as mx

from trainer.data.batch import Batch


def arrays_of(batch: Batch) -> tuple[Any, Any, Any, Any]:
    """Returns the batch as MXNet arrays: the arguments of `TranslationModel.loss`.

    Returns:
        Source ids (sentences, source length) int32, their lengths (sentences,) float32, target ids
        (sentences, target length) int32, and their lengths (sentences,) float32.
    """
    src, tgt = (mx.nd.array(ids, dtype="int32") for ids in (batch.src, batch.tgt))
    return src, mx.nd.array(batch.src_len), tgt, mx.nd.array(batch.tgt_len)
