"""R-Drop (Liang et al. 2021, https://arxiv.org/abs/2106.14448): two passes with different dropout are to agree.

A batch goes through the model twice, as one batch of twice the size. The loss is the mean of both cross-entropies, and
the weight times a quarter of both Kullback-Leibler divergences between the two predictions. That is half the paper's
loss, so that it stays one of nats per target token. On a CPU the kernel `centavo_r_drop` computes it, elsewhere `loss`.
"""

from __future__ import annotations

from typing import Any

import mxnet as mx
from mxnet import autograd


def twice(arrays: tuple[Any, ...]) -> list[Any]:
    """Returns arrays (sentences, ...) with their sentences twice, one half after the other."""
    with autograd.pause(train_mode=autograd.is_training()):
        return [mx.nd.concat(array, array, dim=0) for array in arrays]


def loss(cross_entropy: Any, scores: Any, lengths: Any, weight: float) -> Any:
    """Returns the loss of a batch that was made by `twice`.

    Args:
        cross_entropy: Its sum over both halves, shape (1,).
        scores: Unnormalised log-probabilities, shape (2 * sentences, length, vocabulary).
        lengths: How many labels of each sentence count, shape (2 * sentences,).
        weight: The paper's alpha.

    Returns:
        The sum over the labels of one half, shape (1,).
    """
    one, other = mx.nd.split(mx.nd.log_softmax(scores), num_outputs=2, axis=0)  # (sentences, length, vocabulary) each
    # KL(p || q) + KL(q || p) is the sum of (p - q) * (log p - log q).
    divergences = ((mx.nd.exp(one) - mx.nd.exp(other)) * (one - other)).sum(axis=2)  # (sentences, length)
    counted = mx.nd.SequenceMask(
        divergences, sequence_length=lengths[: len(divergences)], use_sequence_length=True, axis=1
    )
    return cross_entropy / 2 + counted.sum().reshape((1,)) * (weight / 4)
