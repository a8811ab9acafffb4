"""The Transformer with pre-norm by GluonNLP's blocks, which have the parameters but compute post-norm only.

Each layer computes x + f(LayerNorm(x)), and a last norm follows the last layer (Xiong et al. 2020,
https://arxiv.org/abs/2002.04745, figure 1b). The normalised embeddings stay as GluonNLP has them. It is what decoding
begins with, and what the fused graph is compared with.
"""

from __future__ import annotations

import math
from typing import Any

import mxnet as mx
from mxnet import gluon


def add_final_norms(network: Any, units: int) -> None:
    """Gives encoder and decoder of GluonNLP's `network` (NMTModel) the norm after the last layer."""
    for name, stack in (("enc", network.encoder), ("dec", network.decoder)):
        prefix = f"transformer_{name}_final_norm_"
        stack.final_norm = gluon.nn.LayerNorm(in_channels=units, epsilon=1e-5, prefix=prefix)


def encode(network: Any, src: Any, src_len: Any) -> Any:
    """Returns the memory, shape (sentences, source length, units), of source ids (sentences, source length)."""
    mask = _within(src.shape[1], src_len)  # (sentences, 1, source length)
    mask = mx.nd.broadcast_axis(mask, axis=1, size=src.shape[1])  # (sentences, source length, source length)
    x = _embedded(network.encoder, network.src_embed(src))
    for cell in network.encoder.transformer_cells:
        normed = cell.layer_norm(x)
        x = x + _dropped(cell, cell.proj(cell.attention_cell(normed, normed, normed, mask)[0]))
        x = feed_forward(cell.ffn, x)
    return network.encoder.final_norm(x)


def scores(network: Any, src: Any, tgt: Any, src_len: Any, tgt_len: Any) -> Any:
    """Returns the unnormalised log-probabilities, shape (sentences, target length, vocabulary)."""
    memory, length = encode(network, src, src_len), tgt.shape[1]
    of_source = mx.nd.broadcast_axis(_within(src.shape[1], src_len), axis=1, size=length)
    steps = mx.nd.arange(length)
    earlier = mx.nd.broadcast_lesser_equal(steps.reshape((1, 1, -1)), steps.reshape((1, -1, 1)))
    of_target = mx.nd.broadcast_mul(earlier, _within(length, tgt_len))  # (sentences, target length, target length)
    x = _embedded(network.decoder, network.tgt_embed(tgt))
    for cell in network.decoder.transformer_cells:
        normed = cell.layer_norm_in(x)
        x = x + _dropped(cell, cell.proj_in(cell.attention_cell_in(normed, normed, normed, of_target)[0]))
        normed = cell.layer_norm_inter(x)
        x = x + _dropped(cell, cell.proj_inter(cell.attention_cell_inter(normed, memory, memory, of_source)[0]))
        x = feed_forward(cell.ffn, x)
    return network.tgt_proj(network.decoder.final_norm(x))


def feed_forward(block: Any, x: Any) -> Any:
    """Returns x + f(LayerNorm(x)), shape as x, with GluonNLP's feed-forward layer as f."""
    inner = block.ffn_2(block.activation(block.ffn_1(block.layer_norm(x))))
    return x + _dropped(block, inner)


def _embedded(stack: Any, x: Any) -> Any:
    """Scales embeddings (sentences, length, units), adds positions, and normalises."""
    x = x * math.sqrt(x.shape[2]) + stack.position_weight.data(x.context)[: x.shape[1]].expand_dims(0)
    return stack.layer_norm(_dropped(stack, x))


def _dropped(block: Any, x: Any) -> Any:
    return block.dropout_layer(x) if block._dropout else x


def _within(length: int, lengths: Any) -> Any:
    """Returns 1 where a position is within a sentence, and 0 beyond, shape (sentences, 1, length)."""
    return mx.nd.broadcast_lesser(mx.nd.arange(length).reshape((1, 1, -1)), lengths.reshape((-1, 1, 1)))
