"""What one validation has measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trainer.settings.validation import HIGHER_IS_BETTER, Measure

_LARGEST_EXPONENT = 700.0
_NAMES: dict[Measure, str] = {"loss": "loss", "perplexity": "perplexity", "bleu": "BLEU", "chrf": "chrF"}


@dataclass(frozen=True)
class Validation:
    """The measures of the validation split.

    Attributes:
        loss: The training's loss, with label smoothing, in nats per target token.
        unsmoothed_loss: The same without label smoothing: the cross-entropy.
        bleu: BLEU of the translations, from 0 to 100; None: nothing was translated.
        chrf: chrF of the translations, from 0 to 100; None: nothing was translated.
    """

    loss: float
    unsmoothed_loss: float
    bleu: float | None = None
    chrf: float | None = None

    @property
    def perplexity(self) -> float:
        """The exponential of the cross-entropy: the number of equally likely pieces that would be as hard to guess."""
        return math.exp(min(self.unsmoothed_loss, _LARGEST_EXPONENT))

    def value(self, measure: Measure) -> float:
        """Returns one of the measures."""
        value: float | None = getattr(self, measure)
        assert value is not None, "the settings refuse a measure of translations without any"
        return value

    def line(self) -> dict[str, float]:
        """Returns the measures by the names that they have in train.log."""
        values = {
            "validation_loss": round(self.loss, 5),
            "validation_unsmoothed_loss": round(self.unsmoothed_loss, 5),
            "validation_perplexity": round(self.perplexity, 4),
            "validation_bleu": None if self.bleu is None else round(self.bleu, 4),
            "validation_chrf": None if self.chrf is None else round(self.chrf, 4),
        }
        return {name: value for name, value in values.items() if value is not None}


def is_better(measure: Measure, value: float, other: float | None) -> bool:
    """Returns whether `value` is better than `other` (None: there is none). What is not a number never is."""
    if math.isnan(value):
        return False
    if other is None:
        return True
    return value > other if measure in HIGHER_IS_BETTER else value < other


def name_of(measure: Measure) -> str:
    """Returns the measure as people write it."""
    return _NAMES[measure]
