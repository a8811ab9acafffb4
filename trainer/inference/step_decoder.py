"""Decoding one token at a time. The keys and values of earlier tokens are kept.

GluonNLP's own decoder computes the whole prefix again for each new token. This one gives the same scores (a test
compares them), in a time that is proportional to the length of the prefix and not to its square.
"""

from __future__ import annotations

import math
from typing import Any

import mxnet as mx

from trainer.model import pre_norm
from trainer.settings.model import Norm

_MASKED = -1e4  # so low that the weight is exactly 0 in float32, and not too low for float16
States = list[list[Any]]
"""Three lists of arrays, each with the batch first: keys and values of the source, the source's mask, and keys and
values of the target so far."""


class StepDecoder:
    """Scores the next token, by the parameters of GluonNLP's `network` (NMTModel) with `heads` heads.

    Layers normalise their sum with the residual (`norm` is "post"), or what they read ("pre").
    """

    def __init__(self, network: Any, heads: int, norm: Norm = "post") -> None:
        self._network, self._heads, self._is_pre_norm = network, heads, norm == "pre"
        self._cells = list(network.decoder.transformer_cells)

    def begin(self, src: Any, src_len: Any) -> States:
        """Returns the states after reading the source.

        Args:
            src: Source ids, shape (sentences, length), int32.
            src_len: Their lengths without padding, shape (sentences,), float32.
        """
        if self._is_pre_norm:
            memory = pre_norm.encode(self._network, src, src_len)  # (sentences, length, units)
        else:
            memory, _ = self._network.encode(src, valid_length=src_len)
        source = []
        for cell in self._cells:
            attention = cell.attention_cell_inter
            source += [self._by_head(attention.proj_key(memory)), self._by_head(attention.proj_value(memory))]
        steps = mx.nd.arange(src.shape[1], ctx=src.context).reshape((1, -1))
        beyond = mx.nd.broadcast_greater_equal(steps, src_len.reshape((-1, 1))) * _MASKED
        return [source, [beyond.reshape((-1, 1, 1, src.shape[1]))], []]

    def __call__(self, ids: Any, states: States) -> tuple[Any, States]:
        """Reads one more token of each hypothesis.

        Args:
            ids: The tokens, shape (batch,).
            states: What `begin` or the call before returned.

        Returns:
            The log-probabilities of the next token, shape (batch, vocabulary), and the states with `ids` added.
        """
        source, (beyond,), past = states
        decoder = self._network.decoder
        position = past[0].shape[2] if past else 0
        # x: (batch, 1, units)
        x = self._network.tgt_embed(ids.reshape((-1, 1))) * math.sqrt(decoder.position_weight.shape[1])
        x = decoder.layer_norm(x + decoder.position_weight.data(x.context)[position].reshape((1, 1, -1)))
        grown: list[Any] = []
        for index, cell in enumerate(self._cells):
            pair = slice(2 * index, 2 * index + 2)
            x, keys_and_values = self._attend_to_past(cell, x, past[pair])
            grown += keys_and_values
            x = self._attend_to_source(cell, x, source[pair], beyond)
            x = pre_norm.feed_forward(cell.ffn, x) if self._is_pre_norm else cell.ffn(x)
        if self._is_pre_norm:
            x = decoder.final_norm(x)
        scores = self._network.tgt_proj(x).reshape((0, -1))
        return mx.nd.log_softmax(scores), [source, [beyond], grown]

    def _attend_to_past(self, cell: Any, x: Any, past: list[Any]) -> tuple[Any, list[Any]]:
        attention, read = cell.attention_cell_in, self._read(cell.layer_norm_in, x)
        grown = [self._by_head(attention.proj_key(read)), self._by_head(attention.proj_value(read))]
        if past:
            grown = [mx.nd.concat(old, new, dim=2) for old, new in zip(past, grown, strict=True)]
        context = self._attend(attention.proj_query(read), grown[0], grown[1], 0.0)
        return self._add(cell.layer_norm_in, cell.proj_in(context), x), grown

    def _attend_to_source(self, cell: Any, x: Any, source: list[Any], beyond: Any) -> Any:
        read = self._read(cell.layer_norm_inter, x)
        context = self._attend(cell.attention_cell_inter.proj_query(read), source[0], source[1], beyond)
        return self._add(cell.layer_norm_inter, cell.proj_inter(context), x)

    def _read(self, norm: Any, x: Any) -> Any:
        """Returns what a layer computes with."""
        return norm(x) if self._is_pre_norm else x

    def _add(self, norm: Any, x: Any, residual: Any) -> Any:
        """Returns what a layer hands on."""
        return x + residual if self._is_pre_norm else norm(x + residual)

    def _by_head(self, x: Any) -> Any:
        """Turns (batch, length, units) into (batch, heads, length, units of a head)."""
        return x.reshape((0, 0, self._heads, -1)).transpose((0, 2, 1, 3))

    def _attend(self, query: Any, keys: Any, values: Any, beyond: Any) -> Any:
        """Lets a query attend to keys and values. `beyond` is added to the scores.

        Args:
            query: Shape (batch, 1, units).
            keys: Shape (batch, heads, length, units of a head).
            values: As `keys`.
            beyond: 0, or the mask of the source, shape (batch, 1, 1, length).

        Returns:
            The context, shape (batch, 1, units).
        """
        batch, heads, length, units = keys.shape
        query = query.reshape((batch * heads, 1, units)) / math.sqrt(units)
        keys, values = keys.reshape((-1, length, units)), values.reshape((-1, length, units))
        scores = mx.nd.batch_dot(query, keys, transpose_b=True).reshape((batch, heads, 1, length)) + beyond
        weights = mx.nd.softmax(scores).reshape((batch * heads, 1, length))
        return mx.nd.batch_dot(weights, values).reshape((batch, 1, heads * units))
