"""The Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762) and its training loss.

GluonNLP builds the network. The encoding of positions is the paper's (`trainer.model.positions`) and not GluonNLP's.

The embeddings of both languages and the output projection are one matrix (Press and Wolf 2017,
https://aclanthology.org/E17-2025). With a vocabulary for each language, those of the target and the output are. The
names of the parameters depend on nothing but the settings, so that old ranks, new ranks and checkpoints match. On a CPU
the loss is computed by `trainer.model.fused_graph` over the same parameters, elsewhere by GluonNLP's own graph.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mxnet as mx
from gluonnlp.model.transformer import TransformerDecoder, TransformerEncoder
from gluonnlp.model.translation import NMTModel
from mxnet import autograd, gluon

from trainer.files.atomic import write_atomically
from trainer.model.fused_graph import NO_DROPOUT, FusedTransformer
from trainer.model.parameter_file import write_parameters
from trainer.model.positions import PADDING
from trainer.model.pre_norm import add_final_norms
from trainer.model.r_drop import twice
from trainer.model.reference_loss import ReferenceTransformer
from trainer.settings.model import ModelSettings

PARAMETERS_FILE = "model.params"
METADATA_FILE = "model.json"
FORMAT = 2
"""The version of what the parameters mean. Version 1 had GluonNLP's own encoding of positions."""


class ModelError(ValueError):
    """A model cannot be built or read. The message says why, and what to do."""


class TranslationModel:
    """An encoder-decoder with its loss. `trainer.model.build` makes one.

    Attributes:
        settings: What the model was made from.
        vocab_size: Pieces of the vocabulary, of the larger one where there are two.
        separate: Pieces of the source's and of the target's vocabulary; None: they share one, and its embedding.
        network: GluonNLP's NMTModel. The names of its parameters begin with `transformer_`.
        fused: Whether the loss is computed by the fused graph.
    """

    def __init__(
        self, settings: ModelSettings, vocab_size: int, fused: bool, separate: tuple[int, int] | None = None
    ) -> None:
        sizes = settings.architecture()
        self.settings = settings
        self.vocab_size, self.separate = vocab_size, separate
        source_pieces, self._target_pieces = separate or (vocab_size, vocab_size)
        common: dict[str, Any] = {
            "num_heads": sizes.heads,
            "max_length": settings.max_length + PADDING,
            "units": sizes.units,
            "hidden_size": sizes.hidden,
            "dropout": sizes.dropout,
        }
        encoder = TransformerEncoder(num_layers=sizes.layers, prefix="transformer_enc_", **common)
        decoder = TransformerDecoder(num_layers=sizes.layers_of_decoder, prefix="transformer_dec_", **common)
        self.network = NMTModel(
            src_vocab=range(source_pieces),  # NMTModel asks its vocabularies for their length only
            tgt_vocab=range(self._target_pieces),
            encoder=encoder,
            decoder=decoder,
            one_step_ahead_decoder=None,  # `trainer.inference.step_decoder` takes its place
            embed_size=sizes.units,
            embed_initializer=mx.init.Normal(sizes.units**-0.5),
            share_embed=separate is None,
            tie_weights=True,
            prefix="transformer_",
        )
        if sizes.norm == "pre":
            add_final_norms(self.network, sizes.units)
        self.fused = fused
        if not fused:
            _drop_attention(self.network, sizes.dropout_of_attention)
        self._loss = self._make_loss([settings.label_smoothing])
        weight = settings.r_drop
        self._loss_of_both = self._make_loss([settings.label_smoothing], weight) if weight else None
        self._losses: Any = None
        self._no_dropout = mx.nd.array([NO_DROPOUT], dtype="int32")

    def _make_loss(self, smoothings: Sequence[float], r_drop_weight: float = 0.0) -> Any:
        if not self.fused:
            return ReferenceTransformer(self.network, smoothings, self._target_pieces, r_drop_weight)
        sizes = self.settings.architecture()
        dropouts = (sizes.dropout, sizes.dropout_of_attention)
        return FusedTransformer(
            self.network, sizes.heads, *dropouts, smoothings, self.settings.precision, sizes.norm, r_drop_weight
        )

    def loss(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any) -> tuple[Any, float]:
        """Computes the label-smoothed cross-entropy, summed over the target tokens. With R-Drop, training adds to it.

        Call it under `autograd.record()` to train. Dropout follows MXNet's random numbers: after the same
        `mx.random.seed` the same call gives the same loss.

        Args:
            src: Source ids, shape (sentences, source length), int32.
            src_len: Their lengths without padding, shape (sentences,), float32.
            tgt: Target ids with begin and end of sentence, shape (sentences, target length), int32.
            tgt_len: Their lengths without padding, shape (sentences,), float32.

        Returns:
            The loss in nats, a scalar NDArray, and the number of target tokens.
        """
        with autograd.pause(train_mode=autograd.is_training()):
            inputs = self._inputs(src, src_len, tgt, tgt_len)
            tokens = float(inputs[3].sum().asscalar())
        if self._loss_of_both is not None and autograd.is_training():
            return self._loss_of_both(*twice(inputs[:5]), inputs[5])[0], tokens
        return self._loss(*inputs)[0], tokens

    def losses(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any) -> tuple[float, float]:
        """Computes the cross-entropy in nats, summed over the target tokens: with label smoothing and without it.

        The arguments are those of `loss`. There is no dropout, and there are no gradients.
        """
        if self._losses is None:  # only a training that validates needs this graph
            self._losses = self._make_loss([self.settings.label_smoothing, 0.0])
            self._losses.hybridize()
        smoothed, unsmoothed = self._losses(*self._inputs(src, src_len, tgt, tgt_len)).asnumpy().tolist()
        return smoothed, unsmoothed

    def _inputs(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any) -> tuple[Any, ...]:
        """Returns what the graph takes: the decoder reads all ids but the last, and predicts all but the first."""
        return src, src_len, tgt[:, :-1], tgt_len - 1, tgt[:, 1:], self._seed(src.context)

    def _seed(self, device: Any) -> Any:
        if not autograd.is_training():
            return self._no_dropout.as_in_context(device)
        return mx.nd.random.randint(0, 2**31 - 1, shape=(1,), ctx=device, dtype="int32")

    def hybridize(self, active: bool = True) -> None:
        """Computes the loss as one graph from now on, with memory that is planned once for each shape.

        With `active` false, each operator is computed by itself.
        """
        for graph in (self._loss, self._loss_of_both):
            if graph is not None:
                graph.hybridize(active, static_alloc=True)

    def parameters(self) -> Any:
        """Returns the parameters that are trained, a ParameterDict by name."""
        trained = gluon.ParameterDict()
        every = self.network.collect_params()
        trained.update({name: parameter for name, parameter in every.items() if parameter.grad_req != "null"})
        return trained

    def save(self, directory: Path, metadata: dict[str, Any] | None = None) -> None:
        """Writes `model.params` and `model.json` (format, settings, vocabulary size, `metadata`) into `directory`.

        Raises:
            OSError: They cannot be written.
        """
        description = {"format": FORMAT, "model": self.settings.model_dump(), "vocab_size": self.vocab_size}
        if self.separate is not None:
            description["separate"] = self.separate
        description |= metadata or {}
        arrays = {name: parameter.data().as_in_context(mx.cpu()) for name, parameter in self.parameters().items()}
        write_parameters(directory / PARAMETERS_FILE, arrays)
        text = json.dumps(description, indent=1) + "\n"
        write_atomically(directory / METADATA_FILE, text, readable_by_all=True)

    def load(self, directory: Path) -> None:
        """Takes the parameters that `save` wrote. Raises ModelError if they are of another model."""
        path = directory / PARAMETERS_FILE
        try:
            arrays = mx.nd.load(str(path))
        except mx.MXNetError as error:
            raise ModelError(f"cannot read {path}: {str(error).strip().splitlines()[-1]}") from error
        self.set_arrays(arrays, str(path))

    def set_arrays(self, arrays: dict[str, Any], where: str) -> None:
        """Takes parameters by name. `where` names their origin in errors. Raises ModelError."""
        parameters = self.parameters()
        if missing := sorted(set(parameters) ^ set(arrays)):
            raise ModelError(f"{where} is of another model: it and this model differ in {missing[0]} and others")
        for name, parameter in parameters.items():
            if parameter.shape != arrays[name].shape:
                raise ModelError(f"{where} is of another model: {name} is {arrays[name].shape}, not {parameter.shape}")
        for name, parameter in parameters.items():
            parameter.set_data(arrays[name])


def _drop_attention(network: Any, rate: float) -> None:
    """Lets GluonNLP's blocks drop this share of the attention weights. They have one setting for all dropouts."""
    encoder, decoder = network.encoder.transformer_cells, network.decoder.transformer_cells
    attentions = [cell.attention_cell for cell in encoder]
    attentions += [part for cell in decoder for part in (cell.attention_cell_in, cell.attention_cell_inter)]
    for attention in attentions:
        attention._base_cell._dropout_layer = gluon.nn.Dropout(rate)
