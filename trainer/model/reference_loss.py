"""The training loss by GluonNLP's own blocks: for devices without the fused graph, and to compare that graph with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mxnet as mx
from gluonnlp.loss import LabelSmoothing, MaskedSoftmaxCELoss
from mxnet import gluon

from trainer.model import pre_norm, r_drop


class ReferenceTransformer(gluon.Block):  # type: ignore[misc]
    """Computes what `FusedTransformer` computes. Dropout follows MXNet's own random numbers, and not `seed`."""

    def __init__(self, network: Any, smoothings: Sequence[float], vocab_size: int, r_drop_weight: float = 0.0) -> None:
        super().__init__(prefix="reference_")
        self.network, self.r_drop_weight = network, r_drop_weight
        self.smoothings = [LabelSmoothing(epsilon=smoothing, units=vocab_size) for smoothing in smoothings]
        self.cross_entropy = MaskedSoftmaxCELoss(sparse_label=False)

    def forward(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any, labels: Any, seed: Any) -> Any:
        """Returns the sum of the loss over the labels within `tgt_len`, for each label smoothing: shape (smoothings,).

        The arguments have the shapes that `FusedTransformer.hybrid_forward` names.
        """
        if hasattr(self.network.decoder, "final_norm"):
            scores = pre_norm.scores(self.network, src, tgt, src_len, tgt_len)  # (sentences, length, vocabulary)
        else:
            scores, _ = self.network(src, tgt, src_len, tgt_len)
        losses = [self._summed(scores, smoothing(labels), tgt_len) for smoothing in self.smoothings]
        if self.r_drop_weight:
            return r_drop.loss(losses[0], scores, tgt_len, self.r_drop_weight)
        return losses[0] if len(losses) == 1 else mx.nd.concat(*losses, dim=0)

    def _summed(self, scores: Any, labels: Any, tgt_len: Any) -> Any:
        """Returns the sum over all tokens, shape (1,). The labels are smoothed: (sentences, length, vocabulary)."""
        mean_over_length = self.cross_entropy(scores, labels, tgt_len)  # (sentences,), padding counted
        return (mean_over_length.sum() * labels.shape[1]).reshape((1,))
