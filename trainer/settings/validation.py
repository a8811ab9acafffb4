"""The settings of a validation: what it measures, and which measure decides."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from trainer.settings.section import Section

Measure = Literal["loss", "perplexity", "bleu", "chrf"]
HIGHER_IS_BETTER: frozenset[str] = frozenset({"bleu", "chrf"})
"""The measures that rise as a model gets better. The others fall."""


class ValidationSettings(Section):
    """What a validation measures. stop.validate_every_steps says how often there is one.

    Each has the loss, the loss without label smoothing, and the perplexity. With decode, the validation split is
    translated too, and scored by BLEU (Papineni et al. 2002, https://aclanthology.org/P02-1040) and chrF (Popović
    2015, https://aclanthology.org/W15-3049). Each rank translates a part in proportion to its speed. All of this may be
    changed when a training is resumed. A new measure begins without a best value.
    """

    measure: Measure = Field(
        default="loss",
        description="what stop.patience and the best checkpoints go by: loss (with label smoothing), perplexity "
        "(without), bleu or chrf",
    )
    decode: Literal["none", "greedy", "beam"] = Field(
        default="none",
        description="how the validation split is translated: none (it is not), greedy, or beam (as translate says)",
    )
    sentences: int | None = Field(
        default=None,
        ge=1,
        description="how many of its first sentences are translated; null: all. A validation counts as a part of a "
        "step: let it take no longer than some minutes",
    )

    @model_validator(mode="after")
    def _check(self) -> ValidationSettings:
        if self.decode == "none" and self.measure in HIGHER_IS_BETTER:
            raise ValueError(f"measure {self.measure} needs translations: set decode to greedy or beam")
        if self.decode == "none" and self.sentences is not None:
            raise ValueError("sentences says how many are translated: set decode to greedy or beam, or leave it out")
        return self
