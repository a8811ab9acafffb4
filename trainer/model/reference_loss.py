"""The training loss by GluonNLP's own blocks: where the fused graph does not serve, and to hold it against."""

from __future__ import annotations

from typing import Any

from gluonnlp.loss import LabelSmoothing, MaskedSoftmaxCELoss
from mxnet import gluon


class ReferenceTransformer(gluon.Block):  # type: ignore[misc]
    """Takes and gives what `FusedTransformer` does; its dropout follows MXNet's own random numbers, not `seed`."""

    def __init__(self, network: Any, smoothing: float, vocab_size: int) -> None:
        super().__init__(prefix="reference_")
        self.network = network
        self.smoothing = LabelSmoothing(epsilon=smoothing, units=vocab_size)
        self.cross_entropy = MaskedSoftmaxCELoss(sparse_label=False)

    def forward(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any, labels: Any, seed: Any) -> Any:
        """The sum of the loss over the labels within `tgt_len`, shape (1,), as `FusedTransformer` gives it."""
        scores, _ = self.network(src, tgt, src_len, tgt_len)
        mean_over_length = self.cross_entropy(scores, self.smoothing(labels), tgt_len)  # padding counted in the mean
        return (mean_over_length.sum() * labels.shape[1]).reshape((1,))
