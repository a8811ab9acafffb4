"""The training loss by GluonNLP's own blocks: for devices without the fused graph, and to compare that graph with."""

from __future__ import annotations

from typing import Any

from gluonnlp.loss import LabelSmoothing, MaskedSoftmaxCELoss
from mxnet import gluon


class ReferenceTransformer(gluon.Block):  # type: ignore[misc]
    """Computes what `FusedTransformer` computes. Dropout follows MXNet's own random numbers, and not `seed`."""

    def __init__(self, network: Any, smoothing: float, vocab_size: int) -> None:
        super().__init__(prefix="reference_")
        self.network = network
        self.smoothing = LabelSmoothing(epsilon=smoothing, units=vocab_size)
        self.cross_entropy = MaskedSoftmaxCELoss(sparse_label=False)

    def forward(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any, labels: Any, seed: Any) -> Any:
        """Returns the sum of the loss over the labels within `tgt_len`, shape (1,).

        The arguments have the shapes that `FusedTransformer.hybrid_forward` names.
        """
        scores, _ = self.network(src, tgt, src_len, tgt_len)  # (sentences, length, vocabulary)
        mean_over_length = self.cross_entropy(
            scores, self.smoothing(labels), tgt_len
        )  # of each sentence, padding counted
        return (mean_over_length.sum() * labels.shape[1]).reshape((1,))
