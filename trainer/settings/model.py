"""The settings of the model, and the sizes of a Transformer that follow from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import Field, model_validator

from trainer.settings.section import Number, Section

Precision = Literal["float32", "bfloat16", "float16"]
Norm = Literal["post", "pre"]


@dataclass(frozen=True)
class Architecture:
    """The sizes of a Transformer.

    Attributes:
        layers: Layers of the encoder, and as many of the decoder unless `decoder_layers` says otherwise.
        units: Numbers that represent a token.
        hidden: Units of the feed-forward layers.
        heads: Heads of an attention.
        dropout: The share of the activations that is dropped.
        attention_dropout: The share of the attention weights that is dropped; None: `dropout`.
        decoder_layers: Layers of the decoder; None: `layers`.
        norm: Where the layer norms are: after each residual connection, or before what it goes around.
    """

    layers: int
    units: int
    hidden: int
    heads: int
    dropout: float
    attention_dropout: float | None = None
    decoder_layers: int | None = None
    norm: Norm = "post"

    @property
    def layers_of_decoder(self) -> int:
        """The layers of the decoder."""
        return self.layers if self.decoder_layers is None else self.decoder_layers

    @property
    def dropout_of_attention(self) -> float:
        """The share of the attention weights that is dropped."""
        return self.dropout if self.attention_dropout is None else self.attention_dropout


PRESETS = {
    "tiny": Architecture(layers=4, units=128, hidden=256, heads=4, dropout=0.3),
    "base": Architecture(layers=6, units=512, hidden=2048, heads=8, dropout=0.1),
    "big": Architecture(layers=6, units=1024, hidden=4096, heads=16, dropout=0.3),
}


class ModelSettings(Section):
    """The Transformer: a preset, of which every size that is given here is overridden.

    A deep encoder with a shallow decoder translates as well as both of medium depth, and faster: the decoder runs for
    each piece anew (Kasai et al. 2021, https://arxiv.org/abs/2006.10369). With norm: pre a layer normalises what it
    reads, and not its sum with the residual; then deep models train, and without a long warm-up (Xiong et al. 2020,
    https://arxiv.org/abs/2002.04745).
    """

    preset: str = Field(default="tiny", description="tiny, base or big")
    layers: int | None = Field(default=None, description="layers of the encoder, and of the decoder")
    decoder_layers: int | None = Field(default=None, description="layers of the decoder; null: as many as layers")
    units: int | None = Field(default=None, description="numbers that represent a token")
    hidden: int | None = Field(default=None, description="units of the feed-forward layers")
    heads: int | None = Field(default=None, description="heads of an attention; they divide the units")
    dropout: Number | None = Field(default=None, description="the share of the activations that is dropped")
    attention_dropout: Number | None = Field(
        default=None, description="the share of the attention weights that is dropped; null: as dropout"
    )
    norm: Norm = Field(
        default="post",
        description="post: layers normalise their sum with the residual (Vaswani et al. 2017); pre: they normalise "
        "what they read",
    )
    label_smoothing: Number = Field(default=0.1, description="from 0 to below 1")
    r_drop: Number = Field(
        default=0.0,
        ge=0,
        description="R-Drop (Liang et al. 2021): the weight (alpha, 5 in the paper) of how far two passes with "
        "different dropout differ, which is added to the loss. A step computes twice as much; 0: one pass",
    )
    max_length: int = Field(
        default=256, description="the longest sentence, in pieces with begin and end, that the model can take"
    )
    precision: Precision = Field(
        default="float32",
        description="of the matrix products: float32, bfloat16 (GPU, or CPU with AVX-512) or float16 (GPU)",
    )
    seed: int = Field(default=1, description="decides the initial parameters")

    @model_validator(mode="after")
    def _check(self) -> ModelSettings:
        if self.preset not in PRESETS:
            raise ValueError(f"unknown model preset {self.preset!r}; there are {', '.join(PRESETS)}")
        sizes = self.architecture()
        if min(sizes.layers, sizes.layers_of_decoder, sizes.units, sizes.hidden, sizes.heads) < 1:
            raise ValueError(f"layers, units, hidden and heads must be 1 or more: {sizes}")
        if sizes.units % sizes.heads:
            raise ValueError(f"{sizes.units} units cannot be divided among {sizes.heads} heads")
        shares = (sizes.dropout, sizes.dropout_of_attention, self.label_smoothing)
        if not all(0 <= share < 1 for share in shares):
            raise ValueError(f"dropouts and label_smoothing must be from 0 to below 1: {sizes}, {self.label_smoothing}")
        if self.r_drop and not (sizes.dropout or sizes.dropout_of_attention):
            raise ValueError(
                "r_drop compares passes with different dropout, and there is none: set dropout, or no r_drop"
            )
        return self

    def architecture(self) -> Architecture:
        """Returns the sizes: those of the preset where none are given."""
        preset = asdict(PRESETS[self.preset])
        given = {name: value for name in preset if (value := getattr(self, name)) is not None}
        return Architecture(**preset | given)
