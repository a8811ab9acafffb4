"""Building a model, and reading one that was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx

from trainer.model.allocation import reuse_memory
from trainer.model.fused_graph import output_fits_tiles
from trainer.model.kernels import library, processor
from trainer.model.positions import sinusoids
from trainer.model.tiles import use_tiles
from trainer.model.transformer import FORMAT, METADATA_FILE, ModelError, TranslationModel
from trainer.settings.model import ModelSettings
from trainer.settings.section import section_from


def _check_precision(precision: str, device: Any) -> None:
    on_cpu = device.device_type == "cpu"
    if precision == "float16" and on_cpu:
        raise ModelError("float16 needs a GPU, MXNet cannot compute in it on a CPU: use bfloat16 or float32")
    if precision == "bfloat16" and on_cpu and not processor.has("avx512bw"):
        raise ModelError("bfloat16 needs a processor with AVX-512, which this one lacks: use float32")


def keeps_scores(settings: ModelSettings) -> bool:
    """Returns whether training on this machine's CPU keeps the scores of all tokens, (tokens, vocabulary), in memory.

    It does not in matrix tiles.
    """
    return not (settings.precision == "bfloat16" and output_fits_tiles(settings.architecture().units))


def build(
    settings: ModelSettings, vocab_size: int, device: Any | None = None, separate: tuple[int, int] | None = None
) -> TranslationModel:
    """Makes a model with initial parameters, which are the same for the same settings.

    Weights begin by Xavier's rule (magnitude 3). Embeddings are normally distributed with deviation units ** -0.5.
    Multiplied by sqrt(units), as they are used, they have the size of the encoded positions that are added to them.

    Args:
        settings: Sizes, precision and seed.
        vocab_size: Pieces of the vocabulary, of the larger one where there are two.
        device: Where to compute; None: on the CPU.
        separate: Pieces of the source's and of the target's vocabulary; None: they share one.

    Raises:
        ModelError: The device cannot compute in the precision.
    """
    reuse_memory()
    device = device or mx.cpu()
    _check_precision(settings.precision, device)
    if settings.precision == "bfloat16":
        use_tiles()
    fused = device.device_type == "cpu" and library.load()
    if settings.precision != "float32" and not fused:
        mx.contrib.amp.init(settings.precision)  # holds for every model of this process from now on
    model = TranslationModel(settings, vocab_size, fused, separate)
    mx.random.seed(settings.seed)
    model.network.initialize(mx.init.Xavier(magnitude=3.0), ctx=device)
    positions = mx.nd.array(sinusoids(*model.network.encoder.position_weight.shape))
    for block in (model.network.encoder, model.network.decoder):
        block.position_weight.set_data(positions)
    ids, length = mx.nd.ones((1, 2), ctx=device, dtype="int32"), mx.nd.array([2.0], ctx=device)
    model.network(ids, ids, length, length)[0].wait_to_read()  # sets the shapes that GluonNLP leaves open
    model.hybridize()
    return model


def load(directory: Path, device: Any | None = None) -> TranslationModel:
    """Returns the model that `TranslationModel.save` wrote to `directory`. Raises ModelError if there is none."""
    path = directory / METADATA_FILE
    try:
        description = json.loads(path.read_text())
        settings = section_from(ModelSettings, description["model"])
        vocab_size = int(description["vocab_size"])
        pieces = description.get("separate")
        separate = None if pieces is None else (int(pieces[0]), int(pieces[1]))
        found = description.get("format", 1)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
    if found != FORMAT:
        raise ModelError(f"{path} is of format {found}, and this Centavo reads {FORMAT}: train the model again with it")
    model = build(settings, vocab_size, device, separate)
    model.load(directory)
    return model
