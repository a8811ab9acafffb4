"""One step of decoding at a time, with the keys and values of earlier steps kept.

GluonNLP's one-step decoder computes the whole prefix again for each new token; this one gives the same scores in time
proportional to the prefix instead of its square (a test compares them).
"""

from __future__ import annotations

import math
from typing import Any

import mxnet as mx

_MASKED = -1e4  # low enough for a weight of exactly 0 in float32, high enough for float16
States = list[list[Any]]
"""Keys and values of the source, its mask, and the keys and values of the target so far; batch first in each array."""


class StepDecoder:
    """Scores of the next token, from GluonNLP's `network` (NMTModel) with `heads` heads."""

    def __init__(self, network: Any, heads: int) -> None:
        self._network, self._heads = network, heads
        self._cells = list(network.decoder.transformer_cells)

    def begin(self, src: Any, src_len: Any) -> States:
        """The states after reading `src` (sentences, length) int32 with lengths `src_len` (sentences,) float32."""
        memory, _ = self._network.encode(src, valid_length=src_len)
        source = []
        for cell in self._cells:
            attention = cell.attention_cell_inter
            source += [self._by_head(attention.proj_key(memory)), self._by_head(attention.proj_value(memory))]
        steps = mx.nd.arange(src.shape[1], ctx=src.context).reshape((1, -1))
        beyond = mx.nd.broadcast_greater_equal(steps, src_len.reshape((-1, 1))) * _MASKED
        return [source, [beyond.reshape((-1, 1, 1, src.shape[1]))], []]

    def __call__(self, ids: Any, states: States) -> tuple[Any, States]:
        """Log-probabilities (batch, vocabulary) of what follows `ids` (batch,), and the states with `ids` added."""
        source, (beyond,), past = states
        decoder = self._network.decoder
        position = past[0].shape[2] if past else 0
        x = self._network.tgt_embed(ids.reshape((-1, 1))) * math.sqrt(decoder.position_weight.shape[1])
        x = decoder.layer_norm(x + decoder.position_weight.data(x.context)[position].reshape((1, 1, -1)))
        grown: list[Any] = []
        for index, cell in enumerate(self._cells):
            pair = slice(2 * index, 2 * index + 2)
            x, keys_and_values = self._attend_to_past(cell, x, past[pair])
            grown += keys_and_values
            x = self._attend_to_source(cell, x, source[pair], beyond)
            x = cell.ffn(x)
        scores = self._network.tgt_proj(x).reshape((0, -1))
        return mx.nd.log_softmax(scores), [source, [beyond], grown]

    def _attend_to_past(self, cell: Any, x: Any, past: list[Any]) -> tuple[Any, list[Any]]:
        attention = cell.attention_cell_in
        grown = [self._by_head(attention.proj_key(x)), self._by_head(attention.proj_value(x))]
        if past:
            grown = [mx.nd.concat(old, new, dim=2) for old, new in zip(past, grown, strict=True)]
        context = self._attend(attention.proj_query(x), grown[0], grown[1], 0.0)
        return cell.layer_norm_in(cell.proj_in(context) + x), grown

    def _attend_to_source(self, cell: Any, x: Any, source: list[Any], beyond: Any) -> Any:
        context = self._attend(cell.attention_cell_inter.proj_query(x), source[0], source[1], beyond)
        return cell.layer_norm_inter(cell.proj_inter(context) + x)

    def _by_head(self, x: Any) -> Any:
        """(batch, length, units) to (batch, heads, length, units per head)."""
        return x.reshape((0, 0, self._heads, -1)).transpose((0, 2, 1, 3))

    def _attend(self, query: Any, keys: Any, values: Any, beyond: Any) -> Any:
        """query (batch, 1, units) attends to keys and values, by head; `beyond` is added to the scores."""
        batch, heads, length, units = keys.shape
        query = query.reshape((batch * heads, 1, units)) / math.sqrt(units)
        keys, values = keys.reshape((-1, length, units)), values.reshape((-1, length, units))
        scores = mx.nd.batch_dot(query, keys, transpose_b=True).reshape((batch, heads, 1, length)) + beyond
        weights = mx.nd.softmax(scores).reshape((batch * heads, 1, length))
        return mx.nd.batch_dot(weights, values).reshape((batch, 1, heads * units))
