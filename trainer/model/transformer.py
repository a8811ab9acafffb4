"""The Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762) and its training loss.

GluonNLP builds it; the encoding of positions is the paper's (`trainer.model.positions`) instead of GluonNLP's.

Embeddings of both languages and of the output projection are one matrix. Parameter names depend on nothing but the
settings, so that old and new ranks, and checkpoints, match. On a CPU the loss is computed by `trainer.model.fused_graph` over the
same parameters, elsewhere by GluonNLP's own graph.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import mxnet as mx
from gluonnlp.model.transformer import get_transformer_encoder_decoder
from gluonnlp.model.translation import NMTModel
from mxnet import autograd, gluon

from trainer.model import kernels
from trainer.model.allocation import reuse_memory
from trainer.model.fused_graph import NO_DROPOUT, FusedTransformer
from trainer.model.positions import sinusoids
from trainer.model.reference_loss import ReferenceTransformer

PARAMETERS_FILE = "model.params"
METADATA_FILE = "model.json"
FORMAT = 2
"""Of the parameters' meaning; 1 had GluonNLP's own encoding of positions."""
Precision = Literal["float32", "bfloat16", "float16"]


class ModelError(ValueError):
    """A model that cannot be built or read; says why and what to do."""


@dataclass(frozen=True)
class Architecture:
    """Sizes of a Transformer: `layers` in the encoder and as many in the decoder.

    `attention_dropout`: of the attention weights; None: as `dropout`.
    """

    layers: int
    units: int
    hidden: int
    heads: int
    dropout: float
    attention_dropout: float | None = None

    @property
    def dropout_of_attention(self) -> float:
        """Share of the attention weights that is dropped."""
        return self.dropout if self.attention_dropout is None else self.attention_dropout


PRESETS = {
    "tiny": Architecture(layers=4, units=128, hidden=256, heads=4, dropout=0.3),
    "base": Architecture(layers=6, units=512, hidden=2048, heads=8, dropout=0.1),
    "big": Architecture(layers=6, units=1024, hidden=4096, heads=16, dropout=0.3),
}


@dataclass(frozen=True)
class ModelSettings:
    """A `preset` (tiny, base, big), of which every part given here is overridden.

    `layers` in the encoder and as many in the decoder; `units` of a token, `hidden` units of the feed-forward
    layers, attention `heads`; `dropout`, `attention_dropout` (of the attention weights; as `dropout` when not
    given) and `label_smoothing` from 0 to below 1. `max_length` is the longest sentence in ids, begin and end
    included, that the model can take. `precision`: float32, bfloat16 (GPU, and CPU with AVX-512) or float16 (GPU).
    `seed`: of the initial parameters.
    """

    preset: str = "tiny"
    layers: int | None = None
    units: int | None = None
    hidden: int | None = None
    heads: int | None = None
    dropout: float | None = None
    attention_dropout: float | None = None
    label_smoothing: float = 0.1
    max_length: int = 256
    precision: Precision = "float32"
    seed: int = 1

    def architecture(self) -> Architecture:
        """The sizes, checked. Raises ModelError for an unknown preset or impossible sizes."""
        if self.preset not in PRESETS:
            raise ModelError(f"unknown model preset {self.preset!r}; there are {', '.join(PRESETS)}")
        overrides = {name: getattr(self, name) for name in asdict(PRESETS[self.preset])}
        sizes = Architecture(
            **asdict(PRESETS[self.preset]) | {name: value for name, value in overrides.items() if value is not None}
        )
        if min(sizes.layers, sizes.units, sizes.hidden, sizes.heads) < 1:
            raise ModelError(f"layers, units, hidden and heads must be 1 or more: {sizes}")
        if sizes.units % sizes.heads:
            raise ModelError(f"{sizes.units} units cannot be divided among {sizes.heads} heads")
        shares = (sizes.dropout, sizes.dropout_of_attention, self.label_smoothing)
        if not all(0 <= share < 1 for share in shares):
            raise ModelError(f"dropouts and label_smoothing must be from 0 to below 1: {sizes}, {self.label_smoothing}")
        return sizes


class TranslationModel:
    """An encoder-decoder with its loss. `network` is GluonNLP's NMTModel; names of parameters begin `transformer_`.

    `fused` says whether the loss is computed by the fused graph. Make one with `build` or `load`.
    """

    def __init__(self, settings: ModelSettings, vocab_size: int, fused: bool) -> None:
        sizes = settings.architecture()
        self.settings = settings
        self.vocab_size = vocab_size
        encoder, decoder, one_step = get_transformer_encoder_decoder(
            num_layers=sizes.layers,
            num_heads=sizes.heads,
            units=sizes.units,
            hidden_size=sizes.hidden,
            dropout=sizes.dropout,
            max_src_length=settings.max_length,
            max_tgt_length=settings.max_length,
            prefix="transformer_",
        )
        vocabulary = range(vocab_size)  # NMTModel asks its vocabularies for their length only
        self.network = NMTModel(
            src_vocab=vocabulary,
            tgt_vocab=vocabulary,
            encoder=encoder,
            decoder=decoder,
            one_step_ahead_decoder=one_step,
            embed_size=sizes.units,
            embed_initializer=mx.init.Normal(sizes.units**-0.5),
            share_embed=True,
            tie_weights=True,
            prefix="transformer_",
        )
        self.fused = fused
        self._loss = self._make_loss(sizes)
        self._no_dropout = mx.nd.array([NO_DROPOUT], dtype="int32")

    def _make_loss(self, sizes: Architecture) -> Any:
        smoothing = self.settings.label_smoothing
        if self.fused:
            dropouts = (sizes.dropout, sizes.dropout_of_attention)
            return FusedTransformer(self.network, sizes.heads, *dropouts, smoothing, self.settings.precision)
        _drop_attention(self.network, sizes.dropout_of_attention)
        return ReferenceTransformer(self.network, smoothing, self.vocab_size)

    def loss(self, src: Any, src_len: Any, tgt: Any, tgt_len: Any) -> tuple[Any, float]:
        """The label-smoothed cross-entropy summed over the target tokens (nats, scalar NDArray), and their number.

        `src` (sentences, source length) and `tgt` (sentences, target length) are int32 ids, `src_len` and
        `tgt_len` (sentences,) float32. Call it under `autograd.record()` to train. Dropout follows MXNet's random
        numbers: after the same `mx.random.seed` the same call gives the same loss.
        """
        with autograd.pause(train_mode=autograd.is_training()):
            predicted = tgt_len - 1
            inputs, labels = tgt[:, :-1], tgt[:, 1:]
            tokens = float(predicted.sum().asscalar())
            seed = self._seed(src.context)
        return self._loss(src, src_len, inputs, predicted, labels, seed)[0], tokens

    def _seed(self, device: Any) -> Any:
        if not autograd.is_training():
            return self._no_dropout.as_in_context(device)
        return mx.nd.random.randint(0, 2**31 - 1, shape=(1,), ctx=device, dtype="int32")

    def hybridize(self) -> None:
        """Compute the loss as one graph from now on, with memory planned once per shape."""
        self._loss.hybridize(static_alloc=True)

    def parameters(self) -> Any:
        """The trained parameters, a ParameterDict by name."""
        trained = gluon.ParameterDict()
        every = self.network.collect_params()
        trained.update({name: parameter for name, parameter in every.items() if parameter.grad_req != "null"})
        return trained

    def save(self, directory: Path, metadata: dict[str, Any] | None = None) -> None:
        """Write `model.params` and `model.json` (format, settings, vocabulary size, `metadata`) by rename."""
        directory.mkdir(parents=True, exist_ok=True)
        description = {"format": FORMAT, "model": asdict(self.settings), "vocab_size": self.vocab_size}
        description |= metadata or {}
        with tempfile.TemporaryDirectory(dir=directory) as temporary:
            arrays = {name: parameter.data().as_in_context(mx.cpu()) for name, parameter in self.parameters().items()}
            mx.nd.save(str(Path(temporary, PARAMETERS_FILE)), arrays)
            Path(temporary, METADATA_FILE).write_text(json.dumps(description, indent=1) + "\n")
            for name in (PARAMETERS_FILE, METADATA_FILE):
                os.replace(Path(temporary, name), directory / name)

    def load(self, directory: Path) -> None:
        """Take the parameters that `save` wrote. Raises ModelError when they are not of this model."""
        path = directory / PARAMETERS_FILE
        try:
            arrays = mx.nd.load(str(path))
        except mx.MXNetError as error:
            raise ModelError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
        self.set_arrays(arrays, str(path))

    def set_arrays(self, arrays: dict[str, Any], where: str) -> None:
        """Take parameters by name; `where` names their origin in errors."""
        parameters = self.parameters()
        if missing := sorted(set(parameters) ^ set(arrays)):
            raise ModelError(f"{where} is of another model: it and this model differ in {missing[0]} and others")
        for name, parameter in parameters.items():
            if parameter.shape != arrays[name].shape:
                raise ModelError(f"{where} is of another model: {name} is {arrays[name].shape}, not {parameter.shape}")
        for name, parameter in parameters.items():
            parameter.set_data(arrays[name])


def _drop_attention(network: Any, rate: float) -> None:
    """Let GluonNLP's blocks, which know one dropout only, drop this share of the attention weights."""
    encoder, decoder = network.encoder.transformer_cells, network.decoder.transformer_cells
    attentions = [cell.attention_cell for cell in encoder]
    attentions += [part for cell in decoder for part in (cell.attention_cell_in, cell.attention_cell_inter)]
    for attention in attentions:
        attention._base_cell._dropout_layer = gluon.nn.Dropout(rate)


def _check_precision(precision: str, device: Any) -> None:
    on_cpu = device.device_type == "cpu"
    if precision == "float16" and on_cpu:
        raise ModelError("float16 needs a GPU, MXNet cannot compute in it on a CPU: use bfloat16 or float32")
    if precision == "bfloat16" and on_cpu and not kernels.processor_has("avx512bw"):
        raise ModelError("bfloat16 needs a processor with AVX-512, which this one lacks: use float32")


def build(settings: ModelSettings, vocab_size: int, device: Any | None = None) -> TranslationModel:
    """Make a model with initial parameters, the same for the same settings and seed.

    Weights begin by Xavier's rule (magnitude 3), embeddings normally distributed with deviation units ** -0.5: times
    sqrt(units), as they are used, they are of the size of the encoded positions that are added to them.

    Raises ModelError for impossible sizes or a precision that `device` (the CPU, when not given) cannot compute in.
    """
    reuse_memory()
    device = device or mx.cpu()
    units = settings.architecture().units
    _check_precision(settings.precision, device)
    fused = device.device_type == "cpu" and kernels.load()
    if settings.precision != "float32" and not fused:
        mx.contrib.amp.init(settings.precision)  # holds for every model of this process from now on
    model = TranslationModel(settings, vocab_size, fused)
    mx.random.seed(settings.seed)
    model.network.initialize(mx.init.Xavier(magnitude=3.0), ctx=device)
    positions = mx.nd.array(sinusoids(settings.max_length, units))
    for block in (model.network.encoder, model.network.decoder):
        block.position_weight.set_data(positions)
    ids, length = mx.nd.ones((1, 2), ctx=device, dtype="int32"), mx.nd.array([2.0], ctx=device)
    model.network(ids, ids, length, length)[0].wait_to_read()  # completes the shapes that GluonNLP leaves open
    model.hybridize()
    return model


def load(directory: Path, device: Any | None = None) -> TranslationModel:
    """Build and fill the model that `TranslationModel.save` wrote to `directory`."""
    path = directory / METADATA_FILE
    try:
        description = json.loads(path.read_text())
        settings, vocab_size = ModelSettings(**description["model"]), int(description["vocab_size"])
        found = description.get("format", 1)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    if found != FORMAT:
        raise ModelError(f"{path} is of format {found}, and this Centavo reads {FORMAT}: train the model again with it")
    model = build(settings, vocab_size, device)
    model.load(directory)
    return model
