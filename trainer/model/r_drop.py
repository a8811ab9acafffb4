"""R-Drop (Liang et al. 2021, https://arxiv.org/abs/2106.14448): two passes with different dropout are to agree.

A batch goes through the model twice, as one batch of twice the size. The loss is the mean of both cross-entropies, and
the weight times a quarter of both Kullback-Leibler divergences between the two predictions. That is half the paper's
loss, so that it stays one of nats per target token.
"""

from __future__ import annotations

from typing import Any

from mxnet import autograd


def twice(F: Any, arrays: tuple[Any, ...]) -> list[Any]:  # noqa: N803
    """Returns arrays (sentences, ...) with their sentences twice, one half after the other."""
    with autograd.pause(train_mode=autograd.is_training()):
        return [F.concat(array, array, dim=0) for array in arrays]


def loss(F: Any, cross_entropy: Any, scores: Any, labels: Any, lengths: Any, weight: float) -> Any:  # noqa: N803
    """Returns the loss of a batch that was made by `twice`.

    Args:
        F: MXNet's namespace of operators.
        cross_entropy: Its sum over both halves, shape (1,).
        scores: Unnormalised log-probabilities, shape (2 * sentences * length, vocabulary).
        labels: Shape (2 * sentences, length).
        lengths: How many labels of each sentence count, shape (2 * sentences,).
        weight: The paper's alpha.

    Returns:
        The sum over the labels of one half, shape (1,).
    """
    logs = F.log_softmax(scores, axis=-1)
    one, other = F.split(logs, num_outputs=2, axis=0)  # (sentences * length, vocabulary) each
    # KL(p || q) + KL(q || p) is the sum of (p - q) * (log p - log q).
    divergences = F.sum((F.exp(one) - F.exp(other)) * (one - other), axis=1)  # (sentences * length,)
    first_labels, first_lengths = F.split(labels, num_outputs=2, axis=0)[0], F.split(lengths, num_outputs=2, axis=0)[0]
    by_sentence = F.reshape_like(divergences, first_labels)  # (sentences, length)
    counted = F.SequenceMask(by_sentence, sequence_length=first_lengths, use_sequence_length=True, axis=1)
    return cross_entropy / 2 + F.sum(counted).reshape((1,)) * (weight / 4)
