"""GluonNLP's Transformer and its loss as one graph of few operators, over the same parameters.

The arithmetic is that of `gluonnlp.model.transformer` (post-norm, normalised embeddings, attention without biases)
and of `LabelSmoothing` with `MaskedSoftmaxCELoss`; with pre-norm it is that of `trainer.model.pre_norm`. Tests compare
the loss and every gradient.

`tests/bench/bench_trainer.py` tells where the time of a step goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import gluon

from trainer.model.kernels import library
from trainer.model.tiles import use_tiles
from trainer.settings.model import Norm

_EPSILON = 1e-5  # of GluonNLP's layer norms
_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])  # how MXNet's operators take the name of the type
_NO_SLOPE = 1e-30
_PAIRED = 32  # the numbers in bfloat16 of a row of a tile
NO_DROPOUT = -1
"""The seed that switches dropout off."""


def output_fits_tiles(units: int) -> bool:
    """Whether the output layer can be computed in tiles. A library for other processors lacks the operator."""
    return units % _PAIRED == 0 and use_tiles() and library.load() and hasattr(mx.nd, "centavo_output_loss")


class FusedTransformer(gluon.HybridBlock):  # type: ignore[misc]
    """Computes the label-smoothed cross-entropy of a batch from the parameters of `network` (GluonNLP's NMTModel).

    With the `precision` bfloat16, the matrix products are computed in it. Parameters and all else stay float32. In
    tiles, the scores of the tokens are not kept; a loss of several smoothings has no gradients then.
    """

    def __init__(
        self,
        network: Any,
        heads: int,
        dropout: float,
        attention_dropout: float,
        smoothings: Sequence[float],
        precision: str,
        norm: Norm = "post",
        r_drop_weight: float = 0.0,
    ) -> None:
        super().__init__(prefix="fused_")
        self.params.update(network.collect_params())
        self.heads, self.low_precision = heads, precision == "bfloat16"
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self._smoothings, self._r_drop_weight = tuple(smoothings), r_drop_weight
        self.embedding = network.tgt_embed[0].weight
        self.is_separate = network.src_embed[0].weight is not self.embedding
        if self.is_separate:
            self.source_embedding = network.src_embed[0].weight
        self.bias = network.tgt_proj.bias
        self.in_tiles = self.low_precision and output_fits_tiles(self.units)
        self._graph = _Graph if norm == "post" else _PreNormGraph
        if norm == "pre":
            for side, stack in (("encoder", network.encoder), ("decoder", network.decoder)):
                self._own(f"{side}_final", gamma=stack.final_norm.gamma, beta=stack.final_norm.beta)
        self._own_ends("encoder", network.encoder)
        self._own_ends("decoder", network.decoder)
        encoder_cells, decoder_cells = network.encoder.transformer_cells, network.decoder.transformer_cells
        self._encoder_layers, self._decoder_layers = len(encoder_cells), len(decoder_cells)
        for index, encoder in enumerate(encoder_cells):
            self._own_attention(f"encoder{index}_self", encoder.attention_cell, encoder.proj, encoder.layer_norm)
            self._own_feed_forward(f"encoder{index}", encoder.ffn)
        for index, decoder in enumerate(decoder_cells):
            cell, projection, after = decoder.attention_cell_in, decoder.proj_in, decoder.layer_norm_in
            self._own_attention(f"decoder{index}_self", cell, projection, after)
            cell, projection, after = decoder.attention_cell_inter, decoder.proj_inter, decoder.layer_norm_inter
            self._own_attention(f"decoder{index}_cross", cell, projection, after)
            self._own_feed_forward(f"decoder{index}", decoder.ffn)

    @property
    def norms(self) -> dict[str, list[str]]:
        """The beginnings of the names of each side's layer norms, in the order of the layers; the final one is last."""
        encoder, decoder = range(self._encoder_layers), range(self._decoder_layers)
        parts = ("{}_self_", "{}_cross_", "{}_ffn_")
        return {
            "encoder": [part.format(f"encoder{n}") for n in encoder for part in parts[::2]] + ["encoder_final_"],
            "decoder": [part.format(f"decoder{n}") for n in decoder for part in parts] + ["decoder_final_"],
        }

    @property
    def units(self) -> int:
        """The numbers that represent a token."""
        return int(self.embedding.shape[1])

    def outputs_of(self, name: str) -> int:
        """Returns the number of outputs of the weight, shape (outputs, inputs), that this block calls `name`."""
        return int(getattr(self, name).shape[0])

    def _own(self, name: str, **parameters: Any) -> None:
        for part, parameter in parameters.items():
            setattr(self, f"{name}_{part}", parameter)

    def _own_ends(self, name: str, block: Any) -> None:
        self._own(name, position=block.position_weight, gamma=block.layer_norm.gamma, beta=block.layer_norm.beta)

    def _own_attention(self, name: str, cell: Any, projection: Any, norm: Any) -> None:
        self._own(name, query=cell.proj_query.weight, key=cell.proj_key.weight, value=cell.proj_value.weight)
        self._own(name, projection=projection.weight, gamma=norm.gamma, beta=norm.beta)

    def _own_feed_forward(self, name: str, block: Any) -> None:
        self._own(name, weight1=block.ffn_1.weight, bias1=block.ffn_1.bias)
        self._own(name, weight2=block.ffn_2.weight, bias2=block.ffn_2.bias)
        self._own(name, ffn_gamma=block.layer_norm.gamma, ffn_beta=block.layer_norm.beta)

    def hybrid_forward(self, F: Any, *inputs: Any, **parameters: Any) -> Any:  # noqa: N803
        """Computes the loss.

        Args:
            F: MXNet's namespace of operators.
            inputs: Source ids (B, S) int32, their lengths (B,) float32, target ids (B, T) int32, their lengths (B,)
                float32, labels (B, T) int32, and the seed of dropout (1,) int32, where -1 switches it off.
            parameters: By the names that this block has given them.

        Returns:
            The sum of the loss over the labels within the target lengths, one for each smoothing: shape (smoothings,).
            With R-Drop, both halves of the batch have the same sentences, and the sum is over the labels of one half.
        """
        src, src_len, tgt, tgt_len, labels, seed = inputs
        graph = self._graph(F, parameters, seed, self)
        x = graph.embed(src, "encoder")  # (B * S, units)
        for index in range(self._encoder_layers):
            x = graph.self_attend(x, src_len, f"encoder{index}_self", causal=0)
            x = graph.feed_forward(x, f"encoder{index}")
        memory = graph.read(x)
        hidden = graph.embed(tgt, "decoder")  # (B * T, units)
        for index in range(self._decoder_layers):
            hidden = graph.self_attend(hidden, tgt_len, f"decoder{index}_self", causal=1)
            hidden = graph.cross_attend(hidden, memory, tgt_len, src_len, f"decoder{index}_cross")
            hidden = graph.feed_forward(hidden, f"decoder{index}")
        hidden = graph.read(hidden)
        if self.in_tiles:
            inputs = hidden, parameters["embedding"], parameters["bias"], labels, tgt_len
            options = {"gradients": int(len(self._smoothings) == 1), "r_drop": self._r_drop_weight}
            losses = [F.centavo_output_loss(*inputs, smoothing=one, **options)[0] for one in self._smoothings]
        else:
            scores = graph.scores(hidden)  # (B * T, vocabulary)
            if self._r_drop_weight:
                return self._r_drop(F, scores, labels, tgt_len)
            losses = [F.centavo_cross_entropy(scores, labels, tgt_len, smoothing=one)[0] for one in self._smoothings]
        return losses[0] if len(losses) == 1 else F.concat(*losses, dim=0)

    def _r_drop(self, F: Any, scores: Any, labels: Any, lengths: Any) -> Any:  # noqa: N803
        """Returns the loss of both halves of a batch: its labels and lengths are those of either half."""
        of_half = [F.split(array, num_outputs=2, axis=0)[0] for array in (labels, lengths)]
        options = {"smoothing": self._smoothings[0], "weight": self._r_drop_weight}
        return F.centavo_r_drop(scores, *of_half, **options)[0]


class _Graph:
    """The operations of one forward pass. Each dropout has its own salt, a number in the order of the operations."""

    def __init__(self, F: Any, parameters: dict[str, Any], seed: Any, block: FusedTransformer) -> None:  # noqa: N803
        self._f, self._p, self._seed, self._block = F, parameters, seed, block
        self._salt = 0

    def embed(self, ids: Any, side: str) -> Any:
        """Turns ids (B, T) into (B * T, units): embedded, scaled, with positions added, dropout applied, normalised."""
        p, scale = self._p, math.sqrt(self._block.units)
        ends = (p[f"{side}_position"], *self._norm(side, ""))
        embedding = p["source_embedding" if self._block.is_separate and side == "encoder" else "embedding"]
        return self._f.centavo_embed_norm(ids, embedding, *ends, self._seed, scale=scale, **self._options())[0]

    def read(self, x: Any) -> Any:
        """Returns what a layer computes with, (rows, units), of what the layers hand on."""
        return x

    def self_attend(self, x: Any, lengths: Any, name: str, causal: int) -> Any:
        """Lets x (B * T, units) attend to itself, then applies projection, residual and norm."""
        qkv = self._multiply(self.read(x), "query", "key", "value", prefix=name)
        context = self._f.centavo_self_attention(
            qkv, lengths, self._seed, heads=self._block.heads, causal=causal, **self._attention_dropout()
        )[0]
        return self._add(self._multiply(context, "projection", prefix=name), x, name, "")

    def cross_attend(self, x: Any, memory: Any, lengths: Any, memory_lengths: Any, name: str) -> Any:
        """Lets x (B * T, units) attend to memory (B * S, units), then applies projection, residual and norm."""
        query = self._multiply(self.read(x), "query", prefix=name)
        pairs = self._multiply(memory, "key", "value", prefix=name)
        context = self._f.centavo_cross_attention(
            query, pairs, lengths, memory_lengths, self._seed, heads=self._block.heads, **self._attention_dropout()
        )[0]
        return self._add(self._multiply(context, "projection", prefix=name), x, name, "")

    def feed_forward(self, x: Any, name: str) -> Any:
        """Applies the two layers with ReLU between them, then residual and norm, to x (rows, units)."""
        hidden = self._relu(self._product(self._lower(self.read(x)), "weight1", prefix=name, bias="bias1"))
        return self._add(self._raise(self._product(hidden, "weight2", prefix=name, bias="bias2")), x, name, "ffn_")

    def scores(self, x: Any) -> Any:
        """Turns x (rows, units) into unnormalised log-probabilities (rows, vocabulary), by the tied embedding."""
        return self._multiply(x, "embedding", bias="bias")

    def _add(self, x: Any, residual: Any, name: str, part: str) -> Any:
        norm = self._norm(name, part)
        return self._f.centavo_residual_norm(x, residual, *norm, self._seed, **self._options())[0]

    def _norm(self, name: str, part: str) -> tuple[Any, Any]:
        """Returns gamma and beta, each (units,), of a layer norm."""
        return self._p[f"{name}_{part}gamma"], self._p[f"{name}_{part}beta"]

    def _multiply(self, x: Any, *weights: str, prefix: str = "", bias: str | None = None) -> Any:
        """Multiplies x (rows, inputs) by weights (outputs, inputs), side by side, and adds the bias."""
        return self._raise(self._product(self._lower(x), *weights, prefix=prefix, bias=bias))

    def _product(self, x: Any, *weights: str, prefix: str = "", bias: str | None = None) -> Any:
        """Does what `_multiply` does, from and to the precision of the products."""
        names = [f"{prefix}_{name}" if prefix else name for name in weights]
        outputs = sum(self._block.outputs_of(name) for name in names)
        arrays = [self._p[name] for name in names]
        factors = [arrays[0] if len(arrays) == 1 else self._f.concat(*arrays, dim=0)]
        if bias is not None:
            factors.append(self._p[f"{prefix}_{bias}" if prefix else bias])
        lowered = map(self._lower, factors)
        return self._f.FullyConnected(x, *lowered, num_hidden=outputs, flatten=False, no_bias=bias is None)

    def _relu(self, x: Any) -> Any:
        """Returns max(x, 0) in either precision, and NaN where x is NaN.

        oneDNN's own relu turns NaN into 0, which would hide that a training diverges. With a slope, however small, it
        does not. MXNet's `relu` takes five times as long in bfloat16.
        """
        return self._f.LeakyReLU(x, act_type="leaky", slope=_NO_SLOPE)

    def _lower(self, x: Any) -> Any:
        return self._f.amp_cast(x, dtype=_BFLOAT16) if self._block.low_precision else x

    def _raise(self, x: Any) -> Any:
        return self._f.amp_cast(x, dtype="float32") if self._block.low_precision else x

    def _attention_dropout(self) -> dict[str, Any]:
        return self._dropout(self._block.attention_dropout)

    def _options(self) -> dict[str, Any]:
        return {"eps": _EPSILON, **self._dropout(self._block.dropout)}

    def _dropout(self, rate: float) -> dict[str, Any]:
        self._salt += 1
        return {"dropout": rate, "salt": self._salt}


class _PreNormGraph(_Graph):
    """The same with pre-norm (Xiong et al. 2020, https://arxiv.org/abs/2002.04745, figure 1b).

    The layers hand on a pair, each (rows, units): the normalised input of the next layer, and the residual stream.
    Where a layer adds to the stream, the norm of the next layer, or the final one, is computed with it.
    """

    def __init__(self, F: Any, parameters: dict[str, Any], seed: Any, block: FusedTransformer) -> None:  # noqa: N803
        super().__init__(F, parameters, seed, block)
        self._norms = block.norms
        self._next = {one: following for side in self._norms.values() for one, following in pairwise(side)}

    def embed(self, ids: Any, side: str) -> Any:
        stream = super().embed(ids, side)
        first = self._norms[side][0]
        gamma, beta = self._p[f"{first}gamma"], self._p[f"{first}beta"]
        return self._f.LayerNorm(stream, gamma, beta, eps=_EPSILON), stream

    def read(self, x: Any) -> Any:
        return x[0]

    def _add(self, x: Any, residual: Any, name: str, part: str) -> Any:
        # The norm of an attention is named by the attention alone, that of a feed-forward layer has `part`.
        norm = self._norm(self._next[f"{name}_{part}"].removesuffix("_"), "")
        made = self._f.centavo_residual_pre_norm(x, residual[1], *norm, self._seed, **self._options())
        return made[0], made[1]
