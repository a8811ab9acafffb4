"""The settings of one training: the whole of training.yml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from trainer.settings.card import CardSettings
from trainer.settings.data import BatchSettings, CorpusSettings, VocabularySettings
from trainer.settings.horovod import HorovodSettings
from trainer.settings.model import ModelSettings
from trainer.settings.optimizer import OptimizerSettings
from trainer.settings.section import Number, Section
from trainer.settings.validation import ValidationSettings

MOST_WAITING_BYTES = 64 << 20
"""The largest checkpoint that waits while another one is written. A larger one is left out: it would take memory."""


class StopSettings(Section):
    """When the training ends: after steps, tokens or epochs, whichever comes first.

    A step is taken whole. So the last one may exceed the tokens, and with batch.accumulate reach into the next epoch.
    """

    steps: int | None = Field(default=None, description="updates of the parameters")
    tokens: int | None = Field(default=None, description="target tokens")
    epochs: int | None = Field(default=None, description="times that the training text is read")
    patience: int | None = Field(
        default=None, description="also end when validation.measure has not improved for this many validations"
    )
    validate_every_steps: int = Field(
        default=0, ge=0, description="steps between two validations, whose results go into train.log; 0: there are none"
    )

    @model_validator(mode="after")
    def _check(self) -> StopSettings:
        given = [value for value in (self.steps, self.tokens, self.epochs) if value is not None]
        if not given:
            raise ValueError("say when to stop: steps, tokens or epochs")
        if min(given) < 1:
            raise ValueError("steps, tokens and epochs must be 1 or more")
        if self.patience is not None and (self.patience < 1 or self.validate_every_steps < 1):
            raise ValueError("patience must be 1 or more and needs validate_every_steps")
        return self


class ElasticSettings(Section):
    """How ranks come and go."""

    commit_every_steps: int = Field(
        default=10, ge=1, description="steps between two commits: the most that a rank which is lost can cost"
    )
    max_failures_without_step: int = Field(
        default=5,
        ge=1,
        description="the training fails when ranks are lost this many times with no new step in between",
    )
    check_replicas_every_steps: int = Field(
        default=100,
        ge=0,
        description="how often the ranks compare checksums of parameters and optimizer; a rank that differs takes over "
        "the state of the majority; 0: never",
    )


class BalanceSettings(Section):
    """Shares of the global batch in proportion to the measured speed of the ranks."""

    enabled: bool = Field(default=True, description="false: all ranks have the same share")
    every_steps: int = Field(default=5, ge=1, description="how often the shares move towards the speeds")
    max_change: Number = Field(
        default=0.3, gt=0, lt=1, description="the most that a share changes at once, as a part of it"
    )


class CheckpointSettings(Section):
    """What is kept to resume from, and what the final model is made of.

    The mean of several checkpoints is better than the last one (Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762, section 6.1).
    """

    every_steps: int | None = Field(default=200, ge=1, description="steps between two checkpoints; null: not by steps")
    every_minutes: Number | None = Field(default=None, gt=0, description="minutes between two; null: not by time")
    keep: int = Field(default=3, ge=1, description="the last checkpoints that stay")
    average: int = Field(
        default=1,
        ge=1,
        description="the checkpoints whose mean is the final model; 1: one as it is",
    )
    keep_best: int = Field(
        default=0,
        ge=0,
        description="the best checkpoints by validation.measure that stay beside the last ones; each validation may "
        "make one",
    )
    average_of: Literal["last", "best"] = Field(
        default="last",
        description="which checkpoints the final model is the mean of: the last ones (with average 1 the last "
        "parameters), or the best ones",
    )

    @model_validator(mode="after")
    def _check(self) -> CheckpointSettings:
        if self.average_of == "best" and self.average > self.keep_best:
            raise ValueError(
                f"average_of best needs as many best checkpoints: average must be from 1 to keep_best "
                f"({self.keep_best}), not {self.average}"
            )
        if self.average_of == "last" and self.average > self.keep:
            raise ValueError(f"average must be from 1 to keep ({self.keep}), not {self.average}")
        if self.average_of == "last" and self.average > 1 and self.every_steps is None and self.every_minutes is None:
            raise ValueError("average needs checkpoints: set every_steps or every_minutes")
        return self


class FactSettings(Section):
    """The iteration facts, which each rank writes about itself."""

    path: str = Field(default="~/facts.d", description="the folder that they are written to")
    window: int = Field(default=50, ge=1, description="the last steps of which they give the median times")
    warmup_steps: int = Field(
        default=3, ge=0, description="the first steps of every world, which are left out of the window"
    )


class TranslateSettings(Section):
    """The translation of the test split after the last step: beam search, then sacreBLEU.

    The length penalty is ((k + length) / (k + 1)) ** alpha. With alpha 1 and k 0 it is the length, as in fairseq.
    """

    beam_size: int = Field(default=4, ge=1, description="hypotheses that are kept at each step")
    alpha: Number = Field(default=0.6, ge=0, description="alpha of the length penalty; 0: no penalty")
    k: Number = Field(default=5.0, ge=0, description="k of the length penalty")
    max_length: int = Field(default=200, ge=1, description="the longest translation in pieces")
    batch_size: int = Field(default=64, ge=1, description="sentences that are translated at a time")
    test_sentences: int | None = Field(default=None, ge=1, description="how many of the first sentences; null: all")
    tokenize: Literal["13a", "none", "intl", "char"] = Field(
        default="13a", description="how sacreBLEU cuts text into words; none for text that is tokenised already"
    )
    lowercase: bool = Field(default=False, description="whether sacreBLEU ignores case")


class Settings(Section):
    """One training."""

    stop: StopSettings
    seed: int = Field(default=1, description="decides the order of the samples, and dropout")
    storage: str = Field(
        default="training",
        description="a directory that all ranks see, or s3://bucket/prefix, for checkpoints and results",
    )
    cache: str = Field(default="~/.cache/centavo", description="where learned vocabularies are kept")
    tensorboard: str | None = Field(
        default=None,
        description="a directory on rank 0's node for TensorBoard event files, which then go with the results too; "
        "null: none are written",
    )
    init_from: str | None = Field(
        default=None,
        description="what the training begins with in place of random parameters, as for fine-tuning: the storage or "
        "the results of another training, or one of its checkpoints (a folder that all nodes see, or "
        "s3://bucket/prefix). Vocabulary and shape must be the same; text, dropout, batch and optimizer may differ",
    )
    corpus: CorpusSettings = CorpusSettings()
    vocabulary: VocabularySettings = VocabularySettings()
    model: ModelSettings = ModelSettings()
    batch: BatchSettings = BatchSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    horovod: HorovodSettings = HorovodSettings()
    elastic: ElasticSettings = ElasticSettings()
    balance: BalanceSettings = BalanceSettings()
    validation: ValidationSettings = ValidationSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    facts: FactSettings = FactSettings()
    translate: TranslateSettings = TranslateSettings()
    card: CardSettings = CardSettings()

    @model_validator(mode="after")
    def _check(self) -> Settings:
        limit = self.model.max_length
        if self.batch.max_tokens > limit:
            raise ValueError(
                f"batch.max_tokens ({self.batch.max_tokens}) is above model.max_length ({limit}): raise or lower one"
            )
        self.optimizer.check_end(self.stop.steps)
        if self.corpus.is_prepared and self.vocabulary.taken is not None:
            raise ValueError("vocabulary.taken: a prepared corpus has its vocabulary already; corpus.yml says which")
        if self.corpus.is_prepared and self.vocabulary.separate:
            raise ValueError("vocabulary.separate: a prepared corpus has its vocabulary already; corpus.yml says which")
        if not self.stop.validate_every_steps and self.checkpoint.keep_best:
            raise ValueError("checkpoint.keep_best goes by validations: set stop.validate_every_steps")
        if not self.stop.validate_every_steps and self.validation != ValidationSettings():
            raise ValueError(
                "validation says how to validate, and there are no validations: set stop.validate_every_steps"
            )
        return self
