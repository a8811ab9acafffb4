"""The settings of the room `data`: corpus, vocabulary and batches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.settings.section import Number, Section, Texts

DEFAULT_SIZE = 800
CorpusKind = Literal["generated", "files", "multi30k", "iwslt2015", "wmt2014", "prepared", "petastorm"]


class CorpusSettings(Section):
    """The text to train on."""

    kind: CorpusKind = Field(
        default="generated",
        description="generated (dates, numbers, amounts and durations, made by the trainer), files, multi30k, "
        "iwslt2015 or wmt2014 (these two are downloaded), prepared (what `python -m trainer prepare` has made: for "
        "anything large), or petastorm (what `prepare --engine spark --petastorm FOLDER` has kept; it needs "
        "`make setup SPARK=1`)",
    )
    source: str = Field(
        default="en",
        description="the language to translate from: en or pt for generated, en or de for multi30k and wmt2014, "
        "en or vi for iwslt2015",
    )
    target: str = Field(default="pt", description="the language to translate to, the other one of the two")
    seed: int = Field(default=1, description="for generated: decides which pairs are made")
    pairs: int = Field(default=40_000, description="for generated: pairs to train on")
    held_out: int = Field(default=1_000, description="for generated: pairs for validation, and as many for the test")
    directory: str | None = Field(
        default=None,
        description="for prepared: its folder, or s3://bucket/prefix; for petastorm: its folder; for multi30k: the "
        "folder that has it; for iwslt2015 and wmt2014: where downloads are kept",
    )
    text: Literal["raw", "lc.norm.tok"] = Field(
        default="lc.norm.tok", description="for multi30k: raw, or lower-cased, normalised and tokenised"
    )
    train: Texts = Field(default=(), description="for files: a source file and a target file, plain or .gz")
    validation: Texts = Field(default=(), description="for files: the same for validation")
    test: Texts = Field(default=(), description="for files: the same for the test")

    @model_validator(mode="after")
    def _check(self) -> CorpusSettings:
        if self.kind == "prepared" and self.directory is None:
            raise ValueError("a prepared corpus needs directory: its folder, or s3://bucket/prefix")
        if self.kind == "petastorm" and (self.directory is None or "://" in self.directory):
            raise ValueError("a data set of Petastorm needs directory: a folder that every node sees")
        return self

    @property
    def is_prepared(self) -> bool:
        """Whether the text was prepared before the training."""
        return self.kind in ("prepared", "petastorm")


Separate = Annotated[
    bool,
    Field(
        description="true: source and target have a vocabulary each, of up to size pieces, and an embedding each; "
        "false: both have one (Press and Wolf 2017, https://aclanthology.org/E17-2025, section 3)"
    ),
]
"""Whether there are two vocabularies."""


def check_taken(taken: str | None, separate: bool) -> None:
    """Raises ValueError where a vocabulary that is taken over is to be separate."""
    if taken is not None and separate:
        raise ValueError("a vocabulary that is taken over is separate or not by itself: leave out separate, or taken")


class VocabularySettings(Section):
    """The subword vocabulary of both languages together, or one of each.

    With BPE-dropout (Provilkov et al. 2020, https://aclanthology.org/2020.acl-main.170) every epoch reads the training
    sentences in other pieces. It helps where text is scarce. An epoch has as many batches as without it, so that they
    are larger: on Multi30k a fifth larger at 0.05, two fifths at 0.1. Validation and translation have whole pieces.
    """

    size: int = Field(
        default=DEFAULT_SIZE, description="the most pieces; 4 special pieces and 256 single bytes are among them"
    )
    separate: Separate = False
    taken: str | None = Field(
        default=None,
        description="a SentencePiece model to take over in place of learning one, such as the vocabulary of the "
        "training that init_from names: a file, or s3://bucket/key",
    )
    dropout: Number = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="BPE-dropout: the share of merges that is left out when a training sentence is read; 0: none",
    )

    @model_validator(mode="after")
    def _check(self) -> VocabularySettings:
        if self.taken is not None and self.size != DEFAULT_SIZE:
            raise ValueError("a vocabulary that is taken over has its own size: leave out size, or taken")
        check_taken(self.taken, self.separate)
        return self


class BatchSettings(Section):
    """The global batch: what all ranks together compute in one step, however many there are.

    Sentences of similar length come together. The finer the lengths are told apart, the less padding there is: with a
    length_multiple of 8, 4, 2 and 1, Multi30k has 25, 17, 12 and 8% of it, and 2 takes 15% less processor time for a
    token than 8. The coarser they are, the more are the sentences mixed.
    """

    tokens: int = Field(default=4096, ge=1, description="the most tokens on either side, padding included")
    max_tokens: int = Field(
        default=200, ge=3, description="the longest sentence in pieces; longer ones are counted and left out"
    )
    accumulate: int = Field(default=1, ge=1, description="global batches that make one update")
    prefetch: int = Field(default=4, ge=1, description="steps whose batches are made ahead")
    prefetch_threads: int = Field(default=2, ge=1, description="threads that make batches ahead")
    max_sentences: int | None = Field(default=None, description="the most sentences; null: as many as the tokens allow")
    length_multiple: int = Field(default=2, ge=1, le=64, description="lengths are rounded up to a multiple of this")
